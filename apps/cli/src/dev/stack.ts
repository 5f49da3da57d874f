// Everything that `yard dev` and `yard demo` run: NATS, Redis, the streams, then the services.
//
// T1  NATS, Redis and the streams come first, then the services side by side: each waits for what it needs. Everything
//     stops in reverse order, also after a failed start.
// T2  A server that comes back has the port it had, so nobody needs a new address.
// T3  A part is known from before its first start until the end of this process, so that `kill` reaches it.
// T4  The instance file names all processes that answer, so that a later start can end left-overs.

import { setTimeout as delay } from "node:timers/promises";
import { monitorRedisUser } from "@switchyard/contracts/redis-access";
import { describeServer } from "@switchyard/local-servers/resolve";
import { CliError } from "../cli-error.ts";
import {
  claimInstance,
  recordProcess,
  releaseInstance,
  writeInstance,
  type InstanceRecord,
} from "../instance-record.ts";
import { ensureKeys, type KeyDirectory } from "../key-directory.ts";
import type { StateDirectory } from "../locations.ts";
import { count, formatDuration } from "../quantities.ts";
import { hasOwnRedis } from "../redis-login.ts";
import { readChosenPorts, writeChosenPorts } from "./chosen-ports.ts";
import { stopLeftOvers } from "./left-overs.ts";
import {
  isPortTaken,
  launchServer,
  resolveLocalServer,
  type LocalServer,
  type ServerName,
} from "./local-server.ts";
import { ensureLoginKey } from "../login-key.ts";
import { localBubblewrap } from "./local-bubblewrap.ts";
import { killDescendants } from "./kill-descendants.ts";
import { prepareStreams } from "./prepare-streams.ts";
import type { Project } from "./project.ts";
import { servicePlan } from "./service-plan.ts";
import { launchService, type ServiceSpec } from "./service-process.ts";
import type { StackReport } from "./stack-report.ts";
import { supervise, type Change, type Running, type Supervised } from "./supervise.ts";

export interface StackOptions {
  readonly state: StateDirectory;
  readonly project: Project;
  /** Where skills and agents come from, as the importer reads it. */
  readonly skillRoots: string;
  readonly workspace: string;
  readonly runners: number;
  /** Null: the port of the last time when it is free, else any free one. */
  readonly natsPort: number | null;
  readonly redisPort: number | null;
  readonly env: NodeJS.ProcessEnv;
  readonly report: StackReport;
}

const KILL_TIMEOUT_MS = 3_000;
const SERVER_TITLE = { nats: "NATS", redis: "Redis" } as const;

export class Stack {
  readonly #options: StackOptions;
  /** In the order of the start; services in the order of their plan. */
  readonly #parts: Supervised[] = [];
  #record: InstanceRecord | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: StackOptions) {
    this.#options = options;
  }

  /** What runs, as other commands see it. */
  get record(): InstanceRecord {
    if (this.#record === null) throw new Error("the stack has not been started");
    return this.#record;
  }

  /** Starts everything; stops what it started when something fails. Throws `already_running` beside another instance. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#claim();
    try {
      const keys = await ensureKeys(this.#options.state.keys, {
        operator: this.#options.state.operatorKey,
      });
      if (keys.created.length > 0) {
        this.#options.report.detail(`made ${count(keys.created.length, "key")} in ${keys.path}`);
      }
      const natsUrl = await this.#startServer("nats", keys, signal);
      const redisUrl = await this.#startServer("redis", keys, signal);
      await prepareStreams({
        natsUrl,
        state: this.#options.state,
        report: this.#options.report,
      });
      const { runTokenKeyFile } = keys;
      const loginKey = await ensureLoginKey(this.#options.state.keys);
      const redisIsOurs = hasOwnRedis(this.record);
      const specs = servicePlan({
        ...this.#options,
        natsUrl,
        redisUrl,
        redisIsOurs,
        runTokenKeyFile,
        loginKey,
        bubblewrap: await localBubblewrap(this.#options.env, this.#options.report),
      });
      await Promise.race([
        Promise.all(specs.map((spec) => this.#startService(spec))),
        rejectedBy(signal),
      ]);
      await this.#update({ phase: "ready" });
    } catch (error) {
      await this.stop();
      signal.throwIfAborted();
      throw error;
    }
  }

  /** Stops everything in reverse order and gives the instance file back. */
  async stop(): Promise<void> {
    if (this.#record === null) return;
    const { report, state } = this.#options;
    // Whatever goes wrong on the way, no part may be left running.
    await this.#update({ phase: "stopping" }).catch((error: unknown) => {
      report.warn(`the state directory cannot be written: ${messageOf(error)}`);
    });
    for (const part of this.#parts.toReversed()) {
      const began = performance.now();
      const ran = part.current !== null;
      try {
        await part.stop();
        if (ran) report.step(`${part.name} stopped (${formatDuration(performance.now() - began)})`);
      } catch (error) {
        report.warn(`${part.name} did not stop in order and is killed: ${messageOf(error)}`);
        part.kill();
      }
    }
    await this.#writing.catch(() => {}); // said above
    await releaseInstance(state.instanceFile);
    this.#record = null;
  }

  /** Kills everything at once, in whatever state it is, and waits until it is gone. */
  async kill(): Promise<void> {
    const ends = this.#parts.flatMap(({ current }) => (current === null ? [] : [current.exited]));
    await killDescendants();
    for (const part of this.#parts) part.kill(); // a container is no descendant of ours
    await Promise.race([Promise.all(ends), delay(KILL_TIMEOUT_MS)]);
  }

  async #claim(): Promise<void> {
    const { state, project, workspace, report } = this.#options;
    const owner = await recordProcess("yard", process.pid);
    if (owner === null) throw new Error("this process has no identity");
    const record: InstanceRecord = {
      owner,
      phase: "starting",
      project: project.directory,
      workspace,
      natsUrl: null,
      natsMonitorUrl: null,
      redisUrl: null,
      processes: [],
    };
    const outcome = await claimInstance(state.instanceFile, record);
    if (!outcome.claimed) throw alreadyRunning(outcome.holder);
    this.#record = record;
    if (outcome.abandoned === null) return;
    report.step("an earlier start did not end in order; its data is used again");
    await stopLeftOvers(outcome.abandoned.processes, report.step);
  }

  async #startServer(name: ServerName, keys: KeyDirectory, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const { state, env, report } = this.#options;
    const resolved = await resolveLocalServer(name, env, report.detail);
    if (resolved.how === "url") {
      await this.#serverIsAt(name, { url: resolved.url, monitorUrl: null });
      report.step(`${SERVER_TITLE[name]} ${resolved.version} is the configured one`);
      return resolved.url;
    }
    const launchOn = (port: number): Promise<LocalServer> =>
      launchServer({
        name,
        resolved,
        port,
        dataDir: name === "nats" ? state.natsData : state.redisData,
        natsConfig: keys.authorization({ anonymous: true }),
        redisAccess: {
          acl: keys.redis.acl,
          probeUser: monitorRedisUser.name,
          probePassword: keys.redis.password(monitorRedisUser.name),
        },
        log: report.step,
      });
    const first = await this.#launchFirst(name, launchOn);
    let isFirst = true;
    await this.#supervise(name, async () => {
      const server = isFirst ? first : await launchOn(first.port);
      isFirst = false;
      // The monitoring address may be another one. A record that cannot be written leaves no server behind.
      await this.#serverIsAt(name, server).catch((error: unknown) =>
        this.#notRecorded(name, error),
      );
      return server;
    });
    const monitor = first.monitorUrl === null ? "" : `, monitoring at ${first.monitorUrl}`;
    const origin = describeServer(resolved);
    report.step(`${SERVER_TITLE[name]} ${first.version} at ${first.url}${monitor}, from ${origin}`);
    return first.url;
  }

  /** On the port asked for; else on the port of the last time, or on any free one when that is taken. */
  async #launchFirst(
    name: ServerName,
    launchOn: (port: number) => Promise<LocalServer>,
  ): Promise<LocalServer> {
    const { state, report, natsPort, redisPort } = this.#options;
    const asked = name === "nats" ? natsPort : redisPort;
    const chosen = await readChosenPorts(state.portsFile);
    const port = asked ?? chosen[name] ?? 0;
    const server = await launchOn(port).catch((error: unknown) => {
      if (!isPortTaken(error)) throw error;
      if (asked !== null) {
        throw new CliError("start_failed", `port ${asked} for ${SERVER_TITLE[name]} is taken`, {
          hint: "choose another port, or leave it out",
          cause: error,
        });
      }
      report.step(`${SERVER_TITLE[name]}'s port ${port} is taken now; choosing another`);
      return launchOn(0);
    });
    if (asked === null) {
      await writeChosenPorts(state.portsFile, { ...chosen, [name]: server.port }).catch(
        (error: unknown) => this.#notRecorded(`${name}'s port`, error),
      );
    }
    return server;
  }

  async #startService(spec: ServiceSpec): Promise<void> {
    const { report } = this.#options;
    const began = performance.now();
    await this.#supervise(spec.name, (signal) =>
      launchService(spec, { onLine: (line) => report.output(spec.name, line), signal }),
    );
    report.step(`${spec.name} is ready (${formatDuration(performance.now() - began)})`);
  }

  async #supervise(name: string, launch: (signal: AbortSignal) => Promise<Running>): Promise<void> {
    const onChange = (change: Change): void => this.#took(name, change);
    const part = supervise({ name, launch, onChange });
    this.#parts.push(part);
    await part.started;
    if (part.current !== null) await this.#runs(name, part.current);
  }

  #took(name: string, change: Change): void {
    const { report } = this.#options;
    switch (change.change) {
      case "died":
        report.warn(
          `${name} ended (${change.how}); starting it again in ${formatDuration(change.restartInMs)}`,
        );
        break;
      case "restarted":
        report.step(`${name} is back`);
        this.#runs(name, change.running).catch((error: unknown) => this.#notRecorded(name, error));
        break;
      case "restart_failed": {
        const reason = change.error instanceof Error ? change.error.message : String(change.error);
        report.warn(
          `${name} did not start again: ${reason}; next try in ${formatDuration(change.restartInMs)}`,
        );
        break;
      }
      default:
        change satisfies never;
    }
  }

  /** Notes a process that answers, in place of an earlier one with the same name. */
  async #runs(name: string, { pid, healthUrl }: Running): Promise<void> {
    const process = await recordProcess(name, pid);
    if (process === null || this.#record === null) return;
    const entry = { ...process, healthUrl };
    const known = new Map(this.#record.processes.map((each) => [each.name, each]));
    known.set(name, entry);
    // In the order of the parts, whichever was ready first.
    const processes = this.#parts.flatMap((part) => known.get(part.name) ?? []);
    await this.#update({ processes });
  }

  #notRecorded(name: string, error: unknown): void {
    this.#options.report.warn(`${name} could not be recorded: ${messageOf(error)}`);
  }

  #serverIsAt(
    name: ServerName,
    { url, monitorUrl }: { url: string; monitorUrl: string | null },
  ): Promise<void> {
    return this.#update(
      name === "nats" ? { natsUrl: url, natsMonitorUrl: monitorUrl } : { redisUrl: url },
    );
  }

  async #update(change: Partial<InstanceRecord>): Promise<void> {
    const record = { ...this.record, ...change };
    this.#record = record;
    // One write after the other: the last one must be the one that stays, whatever became of those before.
    this.#writing = this.#writing
      .catch(() => {})
      .then(() => writeInstance(this.#options.state.instanceFile, record));
    await this.#writing;
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

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = (): void => reject(new Error("stopped while it was starting"));
    if (signal.aborted) give();
    else signal.addEventListener("abort", give, { once: true });
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
