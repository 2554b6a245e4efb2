declare const kind: unique symbol;

/** A name that a feature has declared. A name that was never declared does not compile. */
export type DeclaredName<Of extends string> = string & { readonly [kind]: Of };

/**
 * Returns a sorted list of names of one kind, and the function that features call to declare a name. Code that knows no
 * feature reads the list, which is complete once all modules are loaded.
 */
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
