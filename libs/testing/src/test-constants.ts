import { REPLACED_CONSTANTS } from "@switchyard/service/constant";
import type { Environment } from "@switchyard/service/env";

type Values = Readonly<Record<string, number | boolean | string>>;

/**
 * The variables of a process in which constants have other values. They are loaded before its program, so that the product has no setting
 * for them. What `env` replaces already stays replaced, with the values that it has there.
 */
export function testConstants(
  values: Values,
  env: Environment = process.env,
): { readonly NODE_OPTIONS: string } {
  const script = `Object.assign(globalThis[Symbol.for(${JSON.stringify(REPLACED_CONSTANTS.description)})]??={},${JSON.stringify(values)})`;
  const load = `--import=data:text/javascript,${encodeURIComponent(script)}`;
  // A later script overrides an earlier one.
  return { NODE_OPTIONS: `${load} ${env["NODE_OPTIONS"] ?? ""}`.trimEnd() };
}

/** Gives constants other values in this process, for services that a test starts in it from now on. Returns the function that undoes it. */
export function replaceConstants(values: Values): () => void {
  const all = globalThis as Record<symbol, Values | undefined>;
  const before = all[REPLACED_CONSTANTS];
  all[REPLACED_CONSTANTS] = { ...before, ...values };
  return () => {
    all[REPLACED_CONSTANTS] = before;
  };
}
