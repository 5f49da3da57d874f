import { printable, printableLine } from "../printable.ts";

interface Changes {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** The difference between two versions, as lines for a person: first the facts, then the text. */
export function diffLines(diff: {
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly files?: Changes & { readonly changed: readonly string[] };
  readonly capabilities: Changes;
  readonly findings: Changes;
}): string[] {
  const { files, capabilities, findings, text } = diff;
  const facts = [
    ...factLines("file", files ?? { added: [], removed: [] }),
    ...factLines("capability", capabilities),
    ...factLines("finding", findings),
    ...(files?.changed ?? []).map((path) => `~ file ${path}`),
  ].map((line) => printableLine(line));
  return [`${diff.from} → ${diff.to}`, ...facts, ...(text === "" ? [] : [`\n${printable(text)}`])];
}

function factLines(title: string, { added, removed }: Changes): string[] {
  return [
    ...added.map((item) => `+ ${title} ${item}`),
    ...removed.map((item) => `- ${title} ${item}`),
  ];
}
