import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { isError } from "@switchyard/contracts/errors";
import { deleteRun, deleteRuns } from "@switchyard/contracts/agent-runner/run-deletion";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { confirm } from "../confirm.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { checkRunName, namedRun } from "../named-run.ts";
import { count } from "../quantities.ts";
import { timeOf } from "../time-option.ts";
import { writeJson, type Terminal } from "../terminal.ts";

interface DeleteOptions {
  readonly owner?: string;
  readonly before?: string;
  readonly yes?: true;
  readonly json?: true;
}

interface Deleted {
  readonly deleted: number;
  readonly notEnded: number;
  /** The named runs that do not exist. */
  readonly absent: readonly string[];
}

/** `yard runs delete`: deletes named runs, or the ended runs of an owner. */
export async function remove(
  terminal: Terminal,
  names: readonly string[],
  options: DeleteOptions,
): Promise<ExitCode> {
  const { owner, before, json } = options;
  if (names.length > 0 === (owner !== undefined) || (names.length > 0 && before !== undefined))
    throw new CliError("usage", "name either runs, or --owner with or without --before", {
      hint: "see the runs with: ./yard runs list",
    });
  for (const name of names) checkRunName(name);
  const beforeAt = timeOf("--before", before);
  const what = owner === undefined ? count(names.length, "run") : `the ended runs of ${owner}`;
  await confirm(`delete ${what} with all texts and events?`, options);
  const done = await withBus(await findBus(terminal.env), (bus) =>
    owner === undefined
      ? deleteNamed(bus, names, (line) => terminal.note(line))
      : deleteOwned(bus, owner, beforeAt),
  );
  if (json) writeJson(terminal, done);
  else {
    terminal.out(`${count(done.deleted, "run")} deleted`);
    for (const runId of done.absent) terminal.note(`you have no run ${runId}`);
    if (done.notEnded > 0)
      terminal.note(`${count(done.notEnded, "run")} not deleted, because they have not ended`);
  }
  if (done.absent.length > 0) return EXIT.notFound;
  return owner === undefined && done.notEnded > 0 ? EXIT.failed : EXIT.ok;
}

/** A run that is refused does not keep the others from being deleted. */
async function deleteNamed(
  bus: Bus,
  names: readonly string[],
  note: (line: string) => void,
): Promise<Deleted> {
  const done = { deleted: 0, notEnded: 0 };
  const absent: string[] = [];
  for (const name of names) {
    const runId = await namedRun(bus, name);
    try {
      const { outcome } = await client(bus, { deleteRun }).deleteRun({ runId });
      if (outcome === "absent") absent.push(runId);
      else done.deleted += 1;
    } catch (error) {
      if (names.length === 1 || !isError(error, deleteRun, "run_not_ended")) throw error;
      done.notEnded += 1;
      note(error.message);
    }
  }
  return { ...done, absent };
}

async function deleteOwned(bus: Bus, owner: string, before: Date | null): Promise<Deleted> {
  const { deleteRuns: request } = client(bus, { deleteRuns });
  const wanted = { owner, ...(before !== null && { before: before.toISOString() }) };
  let [deleted, notEnded] = [0, 0];
  let cursor: string | null = null;
  do {
    const reply: Awaited<ReturnType<typeof request>> = await request({
      ...wanted,
      ...(cursor !== null && { cursor }),
    });
    deleted += reply.deleted;
    notEnded += reply.notEnded;
    cursor = reply.next;
  } while (cursor !== null);
  return { deleted, notEnded, absent: [] };
}
