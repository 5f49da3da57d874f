import type { Presentation } from "@switchyard/contracts/policy/approval-record";
import { changedTexts } from "@switchyard/contracts/policy/changed-texts";
import { visible } from "@switchyard/service/visible-text";
import { createTwoFilesPatch } from "diff";

/** Longer differences take too long to compute. */
const MAX_EDITS = 2_000;

/**
 * The change that a call makes, in lines that each begin with a mark: a patch of the texts that it replaces, or else the values that differ
 * from the last approved call. Null when there is none.
 */
export function changesText({
  args,
  changes,
}: Pick<Presentation, "args" | "changes">): string | null {
  const texts = changedTexts(args, changes);
  if (texts.length > 0) return visible(texts.map(patchOf).join("\n"));
  if (changes === null || changes.length === 0) return null;
  return changes
    .flatMap(({ pointer, before, after }) => [
      `@ ${pointer}`,
      ...(before === null ? [] : [`- ${before}`]),
      ...(after === null ? [] : [`+ ${after}`]),
    ])
    .join("\n");
}

function patchOf({ name, before, after }: ReturnType<typeof changedTexts>[number]): string {
  const options = { context: 3, maxEditLength: MAX_EDITS };
  const patch = createTwoFilesPatch(name, name, before, after, undefined, undefined, options);
  return (
    patch?.replace(/^Index: .*\n=+\n/, "").trimEnd() ??
    `@ ${name}: ${before.length} → ${after.length} characters`
  );
}
