import { createTwoFilesPatch } from "diff";

interface NamedText {
  readonly name: string;
  readonly text: string;
}

/** Longer differences take too long to compute; only the lengths of such texts are shown. */
const MAX_EDITS = 2_000;

/** The difference of two sets of files as a unified patch, each file under its name. */
export function filesDiff(before: readonly NamedText[], after: readonly NamedText[]): string {
  const names = [...new Set([...before, ...after].map(({ name }) => name))];
  return names
    .flatMap((name) => {
      const [old, now] = [before, after].map((files) => files.find((file) => file.name === name));
      if (old?.text === now?.text) return [];
      const [from, to] = [old?.text ?? "", now?.text ?? ""];
      const options = { context: 3, maxEditLength: MAX_EDITS };
      const patch = createTwoFilesPatch(name, name, from, to, undefined, undefined, options);
      return [
        patch?.replace(/^Index: .*\n=+\n/, "") ??
          `${name}: ${from.length} → ${to.length} characters`,
      ];
    })
    .join("\n");
}
