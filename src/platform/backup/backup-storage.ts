export type ByteStream = AsyncIterable<Uint8Array>;

export interface StoredFile {
  name: string;
  bytes: number;
  changed: Date;
}

/** Where backups lie. Names may have folders before them, with slashes between. */
export interface BackupStorage {
  /** How a person names what lies there. */
  show(name: string): string;
  /** The files of a folder, without those below its folders; none where there is no folder. */
  list(folder?: string): Promise<StoredFile[]>;
  has(name: string): Promise<boolean>;
  /** Stores the file whole, in the place of one of that name, or nothing of it; answers its size. */
  write(name: string, bytes: ByteStream, signal?: AbortSignal): Promise<number>;
  /** @throws Error when there is no such file. */
  read(name: string): ByteStream;
  remove(name: string): Promise<void>;
  /** Removes what writers left that were killed more than a day ago; answers the names. */
  removeDrafts(): Promise<string[]>;
}
