export type ByteStream = AsyncIterable<Uint8Array>;

export interface StoredFile {
  name: string;
  bytes: number;
  changed: Date;
}

/** The folder or S3 bucket that stores backups. Names may contain folders, separated by slashes. */
export interface BackupStorage {
  /** Returns the full name of a file, for messages. */
  show(name: string): string;
  /** Lists the files of a folder, without its subfolders. Empty when the folder does not exist. */
  list(folder?: string): Promise<StoredFile[]>;
  has(name: string): Promise<boolean>;
  /** Stores the complete file, replacing one of the same name, or nothing. Returns its size. */
  write(name: string, bytes: ByteStream, signal?: AbortSignal): Promise<number>;
  /** @throws Error when the file does not exist. */
  read(name: string): ByteStream;
  remove(name: string): Promise<void>;
  /** Removes the drafts of writers that were killed more than a day ago. Returns their names. */
  removeDrafts(): Promise<string[]>;
}
