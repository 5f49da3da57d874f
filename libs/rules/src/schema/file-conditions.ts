import { FILE_ACCESSES, FILE_POINTERS } from "@switchyard/contracts/toolbox/file-access";
import type { z } from "zod";
import type { Condition } from "./condition-schema.ts";
import type { What } from "./selector-schema.ts";

/**
 * Refuses a condition on a fact that files do not have, in a rule about files alone. A deny rule with such a condition would silently
 * never apply.
 */
export function checkFileConditions(
  {
    what,
    when = [],
  }: { readonly what?: What | undefined; readonly when?: readonly Condition[] | undefined },
  context: z.core.$RefinementCtx,
): void {
  const accesses: readonly string[] = FILE_ACCESSES;
  if (what?.tools === undefined || !what.tools.every((tool) => accesses.includes(tool))) return;
  for (const [index, condition] of when.entries()) {
    const compared = "not" in condition ? condition.not : condition;
    if (!("arg" in compared) || FILE_POINTERS.includes(compared.arg)) continue;
    const path = ["when", index, ...("not" in condition ? ["not"] : []), "arg"];
    const message = `is no fact of a file; there are ${FILE_POINTERS.join(", ")}`;
    context.addIssue({ code: "custom", path, message });
  }
}
