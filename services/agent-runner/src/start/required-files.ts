import type { FilePart } from "@switchyard/contracts/agent-runner/content-parts";
import { filesOf } from "@switchyard/contracts/agent-runner/input-text";
import { ownerOfRun } from "@switchyard/contracts/ids";
import type { RunCommand } from "../commands/run-command.ts";
import type { FileStore } from "../context/file-store.ts";

/** Thrown when the input names files that its sender has not stored. */
export class UnknownFiles extends Error {
  override readonly name = "UnknownFiles";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      "the input names files that cannot be used; store them with POST /files, and send the parts that it returns",
    );
    this.problems = problems;
  }
}

/**
 * Checks that each file of the input belongs to the sender and matches its part, since digest, type and size are trusted from
 * then on. A copy of a run has that run's files. Throws UnknownFiles; rejects with StoreError.
 */
export async function requireFiles(
  { requester, payload, fork }: Pick<RunCommand, "requester" | "payload" | "fork">,
  files: Pick<FileStore, "find">,
): Promise<void> {
  const named = filesOf(payload.input);
  if (named.length === 0) return;
  const owners = new Set([requester, ...(fork === undefined ? [] : [ownerOfRun(fork.runId)])]);
  const found = await files.find(named.map(({ ref }) => ref));
  const problems = named.flatMap((part, index) => {
    const stored = found[index] ?? null;
    const isOwn = stored !== null && owners.has(stored.owner);
    if (!isOwn) return [`input: ${part.ref} is no stored file of ${requester}`];
    return isSame(part, stored.file)
      ? []
      : [`input: ${part.ref} has another digest, type or size than its part says`];
  });
  if (problems.length > 0) throw new UnknownFiles(problems);
}

/** The name is only a label, which may change. */
function isSame(one: FilePart, other: FilePart): boolean {
  const facts = ["sha256", "mediaType", "sizeBytes"] as const;
  return facts.every((fact) => one[fact] === other[fact]);
}
