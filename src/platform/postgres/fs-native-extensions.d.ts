/** The package has no types of its own. */
declare module 'fs-native-extensions' {
  /** Takes an exclusive lock on a range of an open file. Returns false when another open file has it. */
  export function tryLock(descriptor: number, offset: number, length: number): boolean;
}
