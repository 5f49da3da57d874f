/** The key of the global object under which a test stores the values that replace constants, by their names. */
export const REPLACED_CONSTANTS = Symbol.for("switchyard.constants");

/**
 * Returns a value that no operator tunes, such as a pause or the size of a batch: it is no setting, so that it needs no name in the
 * environment, no line in the documentation and no promise. A test replaces it by its name, with `testConstants` of libs/testing. Throws when
 * the replacement is of another type.
 */
export function constant(name: string, value: number): number;
export function constant(name: string, value: boolean): boolean;
export function constant(name: string, value: string): string;
export function constant(
  name: string,
  value: number | boolean | string,
): number | boolean | string {
  const all = globalThis as Readonly<Record<symbol, Readonly<Record<string, unknown>> | undefined>>;
  const replaced = all[REPLACED_CONSTANTS]?.[name];
  if (replaced === undefined) return value;
  if (typeof replaced === typeof value) return replaced as typeof value;
  throw new TypeError(`the constant ${name} is a ${typeof value}, not ${JSON.stringify(replaced)}`);
}
