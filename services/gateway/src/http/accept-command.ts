import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { publishCommand } from "@switchyard/bus/publish";
import { getAgent } from "@switchyard/contracts/skill-importer/agents";
import type { Command } from "@switchyard/contracts/define";
import { isError } from "@switchyard/contracts/errors";
import { fullRunId, ownerOfRun } from "@switchyard/contracts/ids";
import { forkRun } from "@switchyard/contracts/agent-runner/run-commands";
import { getRun, startRun } from "@switchyard/contracts/agent-runner/runs";
import { ADMIN_USER, CLI_USER } from "@switchyard/contracts/user-names";
import type { AcceptedRuns } from "../agent-runs/accepted-runs.ts";
import type { User } from "../identity/user-cache.ts";
import { Problem } from "../problems/problem.ts";
import type { ContractRequest } from "../routes/read-request.ts";

export interface CommandParts {
  readonly bus: Bus;
  readonly accepted: AcceptedRuns;
}

/** The answer to a command that the queue has stored. */
export interface AcceptedCommand {
  readonly runId: string;
  readonly sequence: number;
}

/**
 * Puts a command into the queue. Errors that a runner would report are reported here as far as possible: the owner of the run,
 * and whether the agent or the run to copy exists. Throws a Problem or a ServiceError.
 */
export async function acceptCommand(
  { bus, accepted }: CommandParts,
  contract: Command,
  {
    tokens,
    request,
    user,
    correlationId,
  }: ContractRequest & { readonly user: User; readonly correlationId: string },
): Promise<AcceptedCommand> {
  const about = { userToken: user.token, correlationId };
  const { runId, newRunId, input, labels } = request as {
    readonly runId?: string;
    readonly newRunId?: string;
    readonly input?: string;
    readonly labels?: Readonly<Record<string, string>>;
  }; // The schemas of the contracts have checked the form.
  const named = fullRunId(user.caller, newRunId ?? runId ?? tokens["runId"] ?? "");
  const isNew = contract === startRun || contract === forkRun;
  checkOwner(user, named, isNew);
  const agent =
    contract === startRun
      ? await existingAgent(bus, tokens["agent"] ?? "", about)
      : contract === forkRun
        ? await agentOfSource(bus, user, { runId: tokens["runId"] ?? "", about })
        : null;
  const { sequence } = await publishCommand(bus, contract, tokens, request, about);
  if (agent !== null)
    await accepted.note(named, { agent, input: input ?? "…", labels: labels ?? {} });
  return { runId: named, sequence };
}

/** Callers start and control only their own runs; the operator of the installation controls all. */
function checkOwner({ caller }: User, runId: string, isNew: boolean): void {
  if (ownerOfRun(runId) === caller) return;
  if (isNew)
    throw new Problem({
      status: 400,
      code: "invalid_request",
      detail: `run ${runId} would be another owner's: leave the part up to ~ out, or say ${caller}~`,
    });
  if (caller !== CLI_USER && caller !== ADMIN_USER)
    throw new Problem({
      status: 403,
      code: "not_allowed",
      detail: `${caller} may not control ${runId}: only its owner may`,
      data: { runId },
    });
}

type About = { readonly userToken: string; readonly correlationId: string };

/** While the importer cannot answer, or refuses this credential, the runner has to find out. */
async function existingAgent(bus: Bus, name: string, about: About): Promise<string> {
  try {
    await call(bus, getAgent, { name }, about);
  } catch (error) {
    if (isError(error, getAgent, "unknown_agent")) throw error;
  }
  return name;
}

async function agentOfSource(
  bus: Bus,
  user: User,
  { runId: named, about }: { readonly runId: string; readonly about: About },
): Promise<string> {
  const runId = fullRunId(user.caller, named);
  checkOwner(user, runId, false);
  try {
    return (await call(bus, getRun, { runId }, about)).run.agent;
  } catch (error) {
    if (isError(error, getRun, "unknown_run")) throw error;
    return "unknown";
  }
}
