import { REPLACED_CONSTANTS } from "@switchyard/service/constant";
import type { Environment } from "@switchyard/service/env";

/** Values of constants by their names. */
export type Constants = Readonly<Record<string, number | boolean | string>>;

/**
 * The variables of a process in which constants have other values. They are loaded before its program, so that the product has no setting
 * for them. What `env` replaces already stays replaced, with the values that it has there.
 */
export function testConstants(
  values: Constants,
  env: Environment = process.env,
): { readonly NODE_OPTIONS: string } {
  const script = `Object.assign(globalThis[Symbol.for(${JSON.stringify(REPLACED_CONSTANTS.description)})]??={},${JSON.stringify(values)})`;
  const load = `--import=data:text/javascript,${encodeURIComponent(script)}`;
  // A later script overrides an earlier one.
  return { NODE_OPTIONS: `${load} ${env["NODE_OPTIONS"] ?? ""}`.trimEnd() };
}

/** The values in force, the latest last. */
const replacements: Constants[] = [];

/** Gives constants other values in this process, for services that a test starts in it from now on. Returns the function that undoes it. */
export function replaceConstants(values: Constants): () => void {
  const all = globalThis as Record<symbol, Constants | undefined>;
  if (replacements.length === 0) replacements.push(all[REPLACED_CONSTANTS] ?? {});
  const own = { ...values };
  replacements.push(own);
  all[REPLACED_CONSTANTS] = Object.assign({}, ...replacements) as Constants;
  return () => {
    const at = replacements.indexOf(own);
    if (at !== -1) replacements.splice(at, 1);
    all[REPLACED_CONSTANTS] = Object.assign({}, ...replacements) as Constants;
  };
}
