import { z } from "zod";
import type { Bus } from "./connect.ts";
import { connectionOf, type Connection } from "./connection.ts";
import { parseObject } from "./wire.ts";

export interface EndpointInfo {
  readonly name: string;
  readonly subject: string;
  readonly queue: string;
  readonly requests: number;
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

/** Also of services that are not ours. */
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
const NANOS_PER_MS = 1_000_000;

/**
 * Asks every service on the bus to describe itself and waits until no further answer comes, at
 * most `timeoutMs` (default 1,000). Nobody answering is an empty list.
 */
export async function discoverServices(
  bus: Bus,
  options: { timeoutMs?: number } = {},
): Promise<ServiceInfo[]> {
  const connection = connectionOf(bus);
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const [infos, stats] = await Promise.all([
    ask(connection, "$SRV.INFO", timeoutMs),
    ask(connection, "$SRV.STATS", timeoutMs),
  ]);
  const statsById = new Map(stats.map((answer) => [answer.id, answer]));
  return infos
    .map((info) => serviceInfo(info, statsById.get(info.id)))
    .toSorted((a, b) => a.name.localeCompare(b.name) || a.id.localeCompare(b.id));
}

async function ask(connection: Connection, subject: string, timeoutMs: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  try {
    const replies = await connection.nc.requestMany(subject, "", {
      strategy: "stall",
      maxWait: timeoutMs,
    });
    for await (const message of replies) {
      const answer = Answer.safeParse(parseObject(message.string()));
      if (answer.success && message.headers?.hasError !== true) answers.push(answer.data);
    }
  } catch {
    return answers; // nobody is there, or nobody may be asked: what came so far is what can be known
  }
  return answers;
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
