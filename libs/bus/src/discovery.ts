import { createInbox, type Msg } from "@nats-io/transport-node";
import { z } from "zod";
import type { Bus } from "./bus.ts";
import { connectionOf, type Connection } from "./connection.ts";
import { parseObject } from "./wire.ts";

export interface EndpointInfo {
  readonly name: string;
  readonly subject: string;
  readonly queue: string;
  readonly requests: number;
  /** Failures of the service itself; refusals and other declared answers do not count. */
  readonly errors: number;
  /** Mean time up to the reply, in milliseconds. */
  readonly averageMs: number;
}

/** One replica of a service, as it describes itself (ADR-32). */
export interface ServiceInfo {
  readonly name: string;
  readonly id: string;
  readonly version: string;
  readonly description: string;
  readonly endpoints: readonly EndpointInfo[];
}

/** Services of other makers answer, too. */
const Answer = z.object({
  name: z.string(),
  id: z.string(),
  version: z.string(),
  description: z.string().default(""),
  endpoints: z
    .array(
      z.object({
        name: z.string(),
        subject: z.string(),
        queue_group: z.string().default(""),
        num_requests: z.number().default(0),
        num_errors: z.number().default(0),
        average_processing_time: z.number().default(0),
      }),
    )
    .nullish()
    .transform((endpoints) => endpoints ?? []),
});
type Answer = z.output<typeof Answer>;

const TIMEOUT_MS = 1_000;
/** Without an answer for so long, the wait for further ones ends. */
const QUIET_MS = 300;
/** The same, when all expected services have answered. */
const QUIET_AFTER_ALL_MS = 40;
const NANOS_PER_MS = 1_000_000;

/** The duration of a discovery, and the services that it waits for. */
export interface Discovery {
  /** The whole time, in milliseconds. Default 1,000. */
  readonly timeoutMs?: number;
  /**
   * Names of services that are expected to run here. When each of them has answered, further replicas are waited for only once more as long
   * as that took, and at least 40 ms.
   */
  readonly expected?: readonly string[];
}

/**
 * Requests every service on the bus to describe itself and waits until no further answer comes for 300 ms, at most `timeoutMs`; less when
 * all that are `expected` have answered. Returns an empty list when no service answers.
 */
export async function discoverServices(bus: Bus, options: Discovery = {}): Promise<ServiceInfo[]> {
  const connection = connectionOf(bus);
  const [infos, stats] = await Promise.all([
    ask(connection, "$SRV.INFO", options),
    ask(connection, "$SRV.STATS", options),
  ]);
  const statsById = new Map(stats.map((answer) => [answer.id, answer]));
  return infos
    .map((info) => serviceInfo(info, statsById.get(info.id)))
    .toSorted((a, b) => a.name.localeCompare(b.name) || a.id.localeCompare(b.id));
}

/**
 * The subjects at which each replica of one service is served, of the replicas that answer within 300 ms of each other. Returns an empty
 * list when no replica answers.
 */
export async function discoverReplicas(
  bus: Bus,
  name: string,
): Promise<{ readonly id: string; readonly subjects: readonly string[] }[]> {
  const infos = await ask(connectionOf(bus), `$SRV.INFO.${name}`, {});
  return infos.map(({ id, endpoints }) => ({ id, subjects: endpoints.map((one) => one.subject) }));
}

/** Resolves to the answers received so far when there is no service, or no permission to request one. */
async function ask(
  { nc, inboxPrefix }: Connection,
  subject: string,
  { timeoutMs = TIMEOUT_MS, expected = [] }: Discovery,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  const missing = new Set(expected);
  const startedAt = performance.now();
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  let quiet: NodeJS.Timeout | undefined;
  let quietMs = QUIET_MS;
  const subscription = nc.subscribe(createInbox(inboxPrefix), {
    callback: (error, message) => {
      if (error !== null || isNoResponder(message)) return end();
      const answer = Answer.safeParse(parseObject(message.string()));
      if (answer.success && message.headers?.hasError !== true) {
        answers.push(answer.data);
        if (missing.delete(answer.data.name) && missing.size === 0)
          quietMs = Math.min(QUIET_MS, Math.max(QUIET_AFTER_ALL_MS, performance.now() - startedAt));
      }
      clearTimeout(quiet);
      quiet = setTimeout(end, quietMs);
    },
  });
  const late = setTimeout(end, timeoutMs);
  try {
    nc.publish(subject, "", { reply: subscription.getSubject() });
    await over;
  } catch {
    return answers; // the connection is closed
  } finally {
    clearTimeout(quiet);
    clearTimeout(late);
    subscription.unsubscribe();
  }
  return answers;
}

/** The server's status for a request without subscribers. */
function isNoResponder({ headers, data }: Msg): boolean {
  return headers?.code === 503 && data.length === 0;
}

function serviceInfo(info: Answer, stats: Answer | undefined): ServiceInfo {
  const bySubject = new Map(stats?.endpoints.map((endpoint) => [endpoint.subject, endpoint]));
  const { name, id, version, description } = info;
  return {
    name,
    id,
    version,
    description,
    endpoints: info.endpoints.map((endpoint) => {
      const measured = bySubject.get(endpoint.subject);
      return {
        name: endpoint.name,
        subject: endpoint.subject,
        queue: endpoint.queue_group,
        requests: measured?.num_requests ?? 0,
        errors: measured?.num_errors ?? 0,
        averageMs: (measured?.average_processing_time ?? 0) / NANOS_PER_MS,
      };
    }),
  };
}
