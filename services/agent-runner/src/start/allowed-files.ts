import type { FilePart } from "@switchyard/contracts/agent-runner/content-parts";
import { fileText } from "@switchyard/contracts/toolbox/file-access";
import { filesOf } from "@switchyard/contracts/agent-runner/input-text";
import { isError } from "@switchyard/contracts/errors";
import { checkPolicy, type Decision } from "@switchyard/contracts/policy/policy";
import type { RunCommand } from "../commands/run-command.ts";
import type { ServiceClients } from "../context/service-clients.ts";
import { Suspended } from "../core/interruption.ts";

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
