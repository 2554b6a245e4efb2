/** The registry behind `@Type()`: class-transformer exports it from this file only. */
declare module 'class-transformer/cjs/storage.js' {
  export const defaultMetadataStorage: {
    findTypeMetadata(
      target: abstract new () => unknown,
      property: string,
    ): { typeFunction: () => unknown } | undefined;
  };
}
