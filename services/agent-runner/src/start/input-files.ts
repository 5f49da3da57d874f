import type { FilePart } from "@switchyard/contracts/agent-runner/content-parts";
import { fileText } from "@switchyard/contracts/toolbox/file-access";
import { filesOf } from "@switchyard/contracts/agent-runner/input-text";
import { isError } from "@switchyard/contracts/errors";
import { checkPolicy, type Decision } from "@switchyard/contracts/policy/policy";
import type { RunCommand } from "../commands/run-command.ts";
import type { ServiceClients } from "../context/service-clients.ts";
import { Suspended } from "../core/interruption.ts";
import { ownerOfRun } from "@switchyard/contracts/ids";
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

/** Thrown when the policy does not let the sender give a file to the agent. */
export class FilesRefused extends Error {
  override readonly name = "FilesRefused";
  readonly problems: readonly string[];

  constructor(
    { requester, agent }: Pick<RunCommand, "requester" | "agent">,
    refused: readonly RefusedFile[],
  ) {
    const problems = refused.map(({ file, why }) => `${fileText(file)}: ${why}`);
    super(`user ${requester} may not give these files to agent ${agent}: ${problems.join("; ")}`);
    this.problems = refused.map(({ file, why }) => `input: ${file.ref} ${fileText(file)}: ${why}`);
  }
}

interface RefusedFile {
  readonly file: FilePart;
  readonly why: string;
}

/**
 * Requests a decision of the policy about each file of the input, by the type and size that its bytes have: the parts were compared with
 * the stored files before. Throws FilesRefused; rejects with Suspended, or with the outage, while the policy cannot decide.
 */
export async function requireAllowedFiles(
  command: Pick<RunCommand, "runId" | "requester" | "agent" | "payload">,
  {
    clients,
    token,
    signal,
  }: {
    readonly clients: Pick<ServiceClients, "decideInputFile">;
    readonly token: string;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const options = { signal, correlationId: command.runId };
  const decided = await Promise.all(
    filesOf(command.payload.input).map(async (file) => ({
      file,
      decision: await clients.decideInputFile({ token, file }, options),
    })),
  ).catch((error: unknown) => {
    if (!PASSING.some((code) => isError(error, checkPolicy, code))) throw error;
    throw new Suspended("the policy cannot decide about the files of the input", { cause: error });
  });
  const refused = decided.flatMap(({ file, decision }) => {
    const why = refusalOf(decision);
    return why === null ? [] : [{ file, why }];
  });
  if (refused.length > 0) throw new FilesRefused(command, refused);
}

/** A later attempt, with a new token, may not get these errors. */
const PASSING = ["invalid_token", "audit_unavailable", "stops_unknown"] as const;

function refusalOf({ effect, reason }: Decision): string | null {
  if (effect === "allow") return null;
  return effect === "deny" ? reason : `${reason}, and a file of an input can get no approval`;
}
