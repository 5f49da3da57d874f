import { setTimeout as delay } from "node:timers/promises";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { discoverReplicas } from "@switchyard/bus/discovery";
import { tokensOf } from "@switchyard/contracts/define";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { RESTARTS, type Restartable } from "@switchyard/contracts/restarts";
import { ToolError } from "../tool-error.ts";

/** The number of processes, and the time until as many were ready again. */
export interface Restarted {
  readonly processes: number;
  readonly tookMs: number;
}

type ContractSubject = (typeof RESTARTS)[Restartable]["subject"];

/** For one process: its drain, and a start on a slow machine. */
const COMES_BACK_MS = 150_000;
const LOOK_EVERY_MS = 250;

/**
 * Restarts the processes of a service, one after the other: the next one ends when the last one is replaced. Rejects with a
 * ToolError when a process refuses the restart, and when no process has replaced one; with the signal's reason when that aborts.
 */
export async function restartService(
  bus: Bus,
  service: Restartable,
  signal: AbortSignal,
): Promise<Restarted> {
  const startedAt = performance.now();
  const before = await processesOf(bus, service);
  if (before.length === 0)
    throw new ToolError(`No ${service} answers, so there is none to restart: start it.`);
  let processes = 0;
  for (const process of before) {
    const present = new Set(await processesOf(bus, service));
    if (!(await isEnding(bus, { service, process, signal }))) continue;
    await untilReplaced(bus, { service, process, present, signal });
    processes += 1;
  }
  return { processes, tookMs: Math.round(performance.now() - startedAt) };
}

/** Returns the names of ready processes: the restart endpoint is the last one that they serve. */
async function processesOf(bus: Bus, service: Restartable): Promise<string[]> {
  const contract = RESTARTS[service];
  const replicas = await discoverReplicas(bus, service);
  return replicas.flatMap(({ subjects }) =>
    subjects.flatMap((subject) => tokensOf<ContractSubject>(contract, subject)?.process ?? []),
  );
}

/** False when it is gone already. */
async function isEnding(
  bus: Bus,
  { service, process, signal }: { service: Restartable; process: string; signal: AbortSignal },
): Promise<boolean> {
  const contract = RESTARTS[service];
  try {
    await call(bus, contract, {}, { tokens: { process }, signal });
    return true;
  } catch (error) {
    if (isError(error, contract, "restart_disabled"))
      throw new ToolError(
        `Gateway restart is disabled (commands.restart=false). Nothing was restarted: ${error.message}`,
      );
    if (error instanceof ServiceError && error.code === "no_responders") return false;
    throw error;
  }
}

async function untilReplaced(
  bus: Bus,
  about: {
    readonly service: Restartable;
    readonly process: string;
    readonly present: ReadonlySet<string>;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { service, process, present, signal } = about;
  const until = performance.now() + COMES_BACK_MS;
  for (;;) {
    const now = await processesOf(bus, service);
    if (!now.includes(process) && now.some((one) => !present.has(one))) return;
    if (performance.now() > until)
      throw new ToolError(
        `A ${service} was ended ${COMES_BACK_MS / 1_000} s ago and none is ready in its place: look at its log; what it reads when it starts may be wrong. Those behind it were left alone.`,
      );
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
}
