import { within } from "@switchyard/contracts/timeouts";
import { auditFill } from "@switchyard/bus/audit-log";
import type { Bus } from "@switchyard/bus/bus";
import { isStreamFull } from "@switchyard/bus/infrastructure-errors";
import { publishEventJson } from "@switchyard/bus/publish";
import { AUDIT_EVENT_OF } from "@switchyard/contracts/policy/audit";
import { STREAM_NAMES } from "@switchyard/contracts/stream-names";
import { Gauge, type Registry } from "prom-client";
import { z } from "zod";
import { connectTimeoutMs } from "@switchyard/service/connect-timeout";
import { constant } from "@switchyard/service/constant";
import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import { StartError } from "@switchyard/service/start-error";
import { openAuditRoom } from "./audit-room.ts";
import { AuditUnavailableError, createAuditWriter, type AuditWriter } from "./audit-writer.ts";
import { createChainHeads } from "./chain-heads.ts";

/** The variables of a process that writes audit records. */
export const auditEnv = {
  /** `on`: records are written within milliseconds. `strict`: nothing happens before its record is stored. `off`: none are written. */
  YARD_AUDIT: z.enum(["on", "strict", "off"]).default("on"),
};

/** The audit of a process. */
export interface Audit {
  readonly writer: AuditWriter;
  /** True: every action waits until its record is stored. */
  readonly isStrict: boolean;
  /** The orderly end of the chain, after everything that writes to it. */
  stop(): Promise<void>;
}

export interface AuditOptions {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly log: Log;
  readonly metrics: Registry;
  /** NATS user of the process. */
  readonly service: string;
  readonly instance: string;
  readonly version: string;
  readonly config: { readonly YARD_AUDIT: "on" | "strict" | "off" };
}

const STOP_MS = 5_000;
const FULL = `the stream ${STREAM_NAMES.audit} is full; the operator gives it more room with \`yard streams ensure --audit-gib <n> --operator-key <file>\` (or NATS more disk), and calls continue by themselves`;

/**
 * Begins the chain of this process; null when the setting turns recording off. Rejects with a StartError when the begin cannot be stored in
 * the time to connect: then no call could be made anyway.
 */
export async function startAudit(options: AuditOptions): Promise<Audit | null> {
  const { bus, redis, log, metrics, service, config } = options;
  if (config.YARD_AUDIT === "off") {
    log.warn({}, "audit is off, nothing of what is decided and done here is recorded");
    return null;
  }
  const room = await openAuditRoom({
    redis,
    service,
    fill: () => auditFill(bus),
    now: Date.now,
    onTrouble: (err) => log.warn({ err }, "cannot read which users have filled the audit"),
  });
  const writer = createAuditWriter({
    service,
    room,
    // Calls are refused when records cannot be stored for longer.
    giveUpAfterMs: constant("auditGiveUpMs", 5_000),
    // The most records of one user in an hour by this process; 0 for no limit.
    perUserHour: constant("auditPerUserHour", 250_000),
    async publish(block, { kind, messageId }) {
      await publishEventJson(bus, AUDIT_EVENT_OF[kind], { service }, block, { messageId });
    },
    refusalOf: (error) => (isStreamFull(error) ? FULL : null),
    onTrouble: (err) => log.error({ err }, "audit records cannot be stored"),
    onRecovered: () => log.info({ waited: writer.state.waiting }, "audit records are stored again"),
    onStored: (head) => heads.keep(head),
  });
  const heads = createChainHeads({
    redis,
    service,
    writer: writer.id,
    now: Date.now,
    onTrouble: (err) => log.warn({ err }, "end of the audit chain not kept in redis"),
  });
  watch(metrics, writer);
  const { instance, version } = options;
  const others = await heads.others();
  const begin = { kind: "chain", change: "started", instance, version, others } as const;
  await begun(writer, writer.append(() => begin).seq, connectTimeoutMs());
  return {
    writer,
    isStrict: config.YARD_AUDIT === "strict",
    async stop() {
      writer.append(() => ({ kind: "chain", change: "ended", instance, version }));
      const lost = await writer.close(STOP_MS);
      if (lost > 0) log.error({ lost, writer: writer.id }, "audit records lost at stop");
      await heads.stop();
      await room.stop();
    },
  };
}

async function begun(writer: AuditWriter, seq: number, limitMs: number): Promise<void> {
  try {
    await within(writer.stored({ seq }), { ms: limitMs }, () => {
      throw new AuditUnavailableError("no answer");
    });
  } catch (cause) {
    throw new StartError(`the audit cannot be written: ${String(cause)}`, {
      hint: "create streams with `yard streams ensure`, with --operator-key after an upgrade, and look whether NATS has room for YARD_AUDIT",
      cause,
    });
  }
}

function watch(metrics: Registry, writer: AuditWriter): void {
  const gauges: readonly [name: string, help: string, read: () => number][] = [
    ["yard_audit_stored", "Records of this process in the stream", () => writer.state.stored],
    ["yard_audit_waiting", "Records that are not stored yet", () => writer.state.waiting],
    [
      "yard_audit_refusing",
      "1 while calls are refused because they could not be recorded",
      () => (writer.state.refusal === null ? 0 : 1),
    ],
  ];
  for (const [name, help, read] of gauges) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [metrics],
      collect: () => gauge.set(read()),
    });
  }
}
