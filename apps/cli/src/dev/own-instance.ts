// This instance's entry in `dev.json`, from its claim until its release.
//
// O1  The record names all processes that answer, so that a later start can end left-overs.
// O2  Writes are sequential, and the last one stays.

import { CliError } from "../cli-error.ts";
import {
  claimInstance,
  recordProcess,
  releaseInstance,
  writeInstance,
  type InstanceRecord,
} from "../instance-record.ts";
import { stopLeftOvers } from "./left-overs.ts";
import type { StackReport } from "./stack-report.ts";
import type { Running } from "./supervise.ts";

export class OwnInstance {
  readonly #file: string;
  #record: InstanceRecord | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(file: string) {
    this.#file = file;
  }

  /** Null before the claim and after the release. */
  get record(): InstanceRecord | null {
    return this.#record;
  }

  /** Throws `already_running` when another instance runs; ends what one left that was killed. */
  async claim(
    { project, workspace }: { readonly project: string; readonly workspace: string },
    report: StackReport,
  ): Promise<void> {
    const owner = await recordProcess("yard", process.pid);
    if (owner === null) throw new Error("this process has no identity");
    const record: InstanceRecord = {
      owner,
      phase: "starting",
      project,
      workspace,
      natsUrl: null,
      natsMonitorUrl: null,
      redisUrl: null,
      processes: [],
    };
    const outcome = await claimInstance(this.#file, record);
    if (!outcome.claimed) throw alreadyRunning(outcome.holder);
    this.#record = record;
    if (outcome.abandoned === null) return;
    report.step("an earlier start did not end in order; its data is used again");
    await stopLeftOvers(outcome.abandoned.processes, report.step);
  }

  /**
   * Notes a process that answers, in place of an earlier one with the same name. `order` has the names of all parts: the record
   * keeps to it, whichever was ready first.
   */
  async runs(
    name: string,
    { pid, healthUrl }: Pick<Running, "pid" | "healthUrl">,
    order: () => readonly string[],
  ): Promise<void> {
    const found = await recordProcess(name, pid);
    if (found === null || this.#record === null) return;
    const known = new Map(this.#record.processes.map((each) => [each.name, each]));
    known.set(name, { ...found, healthUrl });
    await this.update({ processes: order().flatMap((each) => known.get(each) ?? []) });
  }

  async update(change: Partial<InstanceRecord>): Promise<void> {
    if (this.#record === null) throw new Error("the instance has not been claimed");
    const record = { ...this.#record, ...change };
    this.#record = record;
    // An earlier failed write does not prevent this one.
    this.#writing = this.#writing.catch(() => {}).then(() => writeInstance(this.#file, record));
    await this.#writing;
  }

  async release(): Promise<void> {
    await this.#writing.catch(() => {}); // the caller of `update` got the failure
    await releaseInstance(this.#file);
    this.#record = null;
  }
}

function alreadyRunning({ owner, phase, natsUrl, redisUrl }: InstanceRecord): CliError {
  const urls = [natsUrl, redisUrl].filter((url) => url !== null);
  const where = urls.length === 0 ? "" : `, ${urls.join(", ")}`;
  return new CliError(
    "already_running",
    `Switchyard already runs here: process ${owner.pid}, ${phase}${where}`,
    { hint: `use it, or stop it with: kill ${owner.pid}` },
  );
}
