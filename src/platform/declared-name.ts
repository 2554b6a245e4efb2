declare const kind: unique symbol;

/** A name that a feature has declared: one that nobody declares does not compile. */
export type DeclaredName<Of extends string> = string & { readonly [kind]: Of };

/** What features declare of a kind, sorted, for code that knows no feature. It is complete when all modules are loaded. */
export function declarations<Of extends string>(of: Of) {
  const names: DeclaredName<Of>[] = [];
  /** @throws Error when the name is taken */
  const declare = (name: string): DeclaredName<Of> => {
    const declared = name as DeclaredName<Of>;
    if (names.includes(declared)) throw new Error(`two features declare the ${of} ${name}`);
    names.splice(names.filter((other) => other < declared).length, 0, declared);
    return declared;
  };
  return { names: names as readonly DeclaredName<Of>[], declare };
}
