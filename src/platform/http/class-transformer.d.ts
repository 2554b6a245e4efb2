/** Registry behind `@Type()`. Only this file of class-transformer exports it. */
declare module 'class-transformer/cjs/storage.js' {
  export const defaultMetadataStorage: {
    findTypeMetadata(
      target: abstract new () => unknown,
      property: string,
    ): { typeFunction: () => unknown } | undefined;
  };
}
