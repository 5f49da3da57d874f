// Everything that `yard dev` and `yard demo` run: NATS, Redis, the streams, then the services.
//
// T1  NATS, Redis and the streams come first, then the services side by side: each waits for what it needs. Everything
//     stops in reverse order, also after a failed start.
// T2  A server that comes back has the port it had, so its address stays valid.
// T3  A part is registered from before its first start until the end of this process, so that `kill` reaches it.

import { appendFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { within } from "@switchyard/contracts/timeouts";
import type { ForeignSource } from "@switchyard/topology/topology";
import { triggerSources } from "../trigger-sources.ts";
import { monitorRedisUser } from "@switchyard/topology/redis-access";
import { describeServer } from "@switchyard/local-servers/resolve";
import type { InstanceRecord } from "../instance-record.ts";
import { ensureKeys, type KeyDirectory } from "../key-directory.ts";
import type { StateDirectory } from "../locations.ts";
import { count, formatDuration } from "../quantities.ts";
import { hasOwnRedis } from "../redis-login.ts";
import { chooseHttpPort, launchOnChosenPort, rememberHttpPort } from "./chosen-ports.ts";
import {
  launchServer,
  resolveLocalServer,
  SERVER_TITLE,
  type LocalServer,
  type ServerName,
} from "./local-server.ts";
import { ensureLaptopToken } from "../laptop-token.ts";
import { localBubblewrap } from "./local-bubblewrap.ts";
import { moveKeys } from "./move-keys.ts";
import { localConsole } from "./local-console.ts";
import { httpAccess } from "./http-access.ts";
import { killDescendants } from "./kill-descendants.ts";
import { OwnInstance } from "./own-instance.ts";
import { prepareStreams } from "./prepare-streams.ts";
import type { Project } from "./project.ts";
import { ownApprovals } from "./planned-services.ts";
import { servicePlan } from "./service-plan.ts";
import type { launchService, ServiceSpec } from "./service-process.ts";
import { messageOf, notRecorded, type StackReport } from "./stack-report.ts";
import { supervise, type Change, type Running, type Supervised } from "./supervise.ts";

export interface StackOptions {
  readonly state: StateDirectory;
  readonly project: Project;
  /** Sources of skills and agents, in the form that the importer reads. */
  readonly skillRoots: string;
  readonly workspace: string;
  readonly runners: number;
  /** True: each service is a process of its own. */
  readonly apart: boolean;
  /** Null: the port of the last time when it is free, else any free one. */
  readonly natsPort: number | null;
  readonly redisPort: number | null;
  readonly env: NodeJS.ProcessEnv;
  readonly report: StackReport;
  /** Starts a process of services. */
  readonly launch: typeof launchService;
}

const KILL_TIMEOUT_MS = 3_000;

export class Stack {
  readonly #options: StackOptions;
  /** In the order of the start; services in the order of their plan. */
  readonly #parts: Supervised[] = [];
  readonly #instance: OwnInstance;
  /** The subjects that the project's triggers subscribe to. */
  #sources: readonly ForeignSource[] = [];

  constructor(options: StackOptions) {
    this.#options = options;
    this.#instance = new OwnInstance(options.state.instanceFile);
  }

  /** The running instance's record, as other commands read it. */
  get record(): InstanceRecord {
    const { record } = this.#instance;
    if (record === null) throw new Error("the stack has not been started");
    return record;
  }

  /** Starts everything; stops what it started when something fails. Throws `already_running` beside another instance. */
  async start(signal: AbortSignal): Promise<void> {
    const { state, project, workspace, report, env } = this.#options;
    const { triggersFile } = project;
    this.#sources = triggersFile === null ? [] : await triggerSources(triggersFile);
    await this.#instance.claim({ project: project.directory, workspace }, report);
    try {
      // Behind the claim: an instance of an older version may be using them.
      if (await moveKeys(state))
        report.step(`moved the keys of this project to ${state.keys} from ${state.formerKeys}`);
      const keys = await ensureKeys(state.keys, { operator: state.operatorKey });
      if (keys.created.length > 0)
        report.detail(`made ${count(keys.created.length, "key")} in ${keys.path}`);
      const natsUrl = await this.#startServer("nats", keys, signal);
      const redisUrl = await this.#startServer("redis", keys, signal);
      await prepareStreams({ natsUrl, state, report });
      await ensureLaptopToken(state.keys);
      // `yard channels login` writes to it.
      await appendFile(join(state.keys, "channels.env"), "", { mode: 0o600 });
      const bubblewrap = await localBubblewrap(env, report);
      if (bubblewrap === null && state.keys.startsWith(workspace + sep))
        report.warn(
          "the workspace contains this project's keys, which MCP servers without a sandbox can read: make a folder files/ for what agents work on, or install bubblewrap",
        );
      const specs = servicePlan({
        ...this.#options,
        natsUrl,
        redisUrl,
        redisIsOurs: hasOwnRedis(this.record),
        bubblewrap,
        console: await localConsole(report),
        httpPort: await chooseHttpPort(state.portsFile),
      });
      await Promise.race([
        Promise.all(specs.map((spec) => this.#startService(spec))),
        rejectedBy(signal),
      ]);
      const own = ownApprovals(env);
      if (own !== "none")
        report.step(
          `you may approve ${own === "all" ? "your own calls" : "calls of your own runs"} on this machine (YARD_APPROVE_OWN=${own}); elsewhere the default is none`,
        );
      await this.#rememberAddress();
      await this.#instance.update({ phase: "ready" });
    } catch (error) {
      await this.stop();
      signal.throwIfAborted();
      throw error;
    }
  }

  /** Stops everything in reverse order and releases the instance file. */
  async stop(): Promise<void> {
    if (this.#instance.record === null) return;
    const { report } = this.#options;
    // No failure on the way may leave a part running.
    await this.#instance.update({ phase: "stopping" }).catch((error: unknown) => {
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
    await this.#instance.release();
  }

  /** Kills everything at once, in whatever state it is, and waits until it is gone. */
  async kill(): Promise<void> {
    const ends = this.#parts.flatMap(({ current }) => (current === null ? [] : [current.exited]));
    await killDescendants();
    for (const part of this.#parts) part.kill(); // a container is not a descendant of ours
    await within(Promise.all(ends), { ms: KILL_TIMEOUT_MS });
  }

  async #startServer(name: ServerName, keys: KeyDirectory, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const { state, env, report, natsPort, redisPort } = this.#options;
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
        natsConfig: keys.authorization({ anonymous: true, sources: this.#sources }),
        redisAccess: {
          acl: keys.redis.acl,
          probeUser: monitorRedisUser.name,
          probePassword: keys.redis.password(monitorRedisUser.name),
        },
        log: report.step,
      });
    const wanted = name === "nats" ? natsPort : redisPort;
    const { portsFile } = state;
    const first = await launchOnChosenPort(name, launchOn, { wanted, portsFile, report });
    let isFirst = true;
    await this.#supervise(name, async () => {
      const server = isFirst ? first : await launchOn(first.port);
      isFirst = false;
      // The monitoring address may be another one. A record that cannot be written leaves no server behind.
      await this.#serverIsAt(name, server).catch((error: unknown) =>
        notRecorded(report, name, error),
      );
      return server;
    });
    const monitor = first.monitorUrl === null ? "" : `, monitoring at ${first.monitorUrl}`;
    const origin = describeServer(resolved);
    report.step(`${SERVER_TITLE[name]} ${first.version} at ${first.url}${monitor}, from ${origin}`);
    return first.url;
  }

  /** The address of the console and of HTTP is the same at the next start. */
  async #rememberAddress(): Promise<void> {
    const { state, report } = this.#options;
    const http = await httpAccess(this.record, state.keys);
    if (http === null) return;
    await rememberHttpPort(state.portsFile, Number(new URL(http.url).port)).catch(
      (error: unknown) => notRecorded(report, "the port of HTTP", error),
    );
  }

  async #startService(spec: ServiceSpec): Promise<void> {
    const { report, launch } = this.#options;
    const began = performance.now();
    await this.#supervise(spec.name, (signal) =>
      launch(spec, { onLine: (line, speaker) => report.output(speaker, line), signal }),
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
      case "restarting":
        report.step(`${name} ended for the restart that was requested`);
        break;
      case "restarted":
        report.step(`${name} is back`);
        this.#runs(name, change.running).catch((error: unknown) =>
          notRecorded(report, name, error),
        );
        break;
      case "restart_failed":
        report.warn(
          `${name} did not start again: ${messageOf(change.error)}; next try in ${formatDuration(change.restartInMs)}`,
        );
        break;
      default:
        change satisfies never;
    }
  }

  #runs(name: string, running: Running): Promise<void> {
    return this.#instance.runs(name, running, () => this.#parts.map((part) => part.name));
  }

  #serverIsAt(
    name: ServerName,
    { url, monitorUrl }: { url: string; monitorUrl: string | null },
  ): Promise<void> {
    return this.#instance.update(
      name === "nats" ? { natsUrl: url, natsMonitorUrl: monitorUrl } : { redisUrl: url },
    );
  }
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = (): void => reject(new Error("stopped while it was starting"));
    if (signal.aborted) give();
    else signal.addEventListener("abort", give, { once: true });
  });
}
