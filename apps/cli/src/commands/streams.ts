import { ensureAudit, ensureStreams, type StreamOptions } from "@switchyard/bus/streams";
import { queueLags, type StreamLag } from "@switchyard/bus/queue-lag";
import { ADMIN_USER, OPERATOR_USER } from "@switchyard/contracts/user-names";
import { findBus, withBus, type BusTarget } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { stateDirectory } from "../locations.ts";
import { formatBytes } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

const GIB = 1024 ** 3;
const CONNECT_MS = 5_000;
/** The services wait as long for their first connection. */
const WAIT_MS = 3_600_000;

/**
 * `yard streams ensure`: creates or updates streams, consumers and the payload bucket. Needs the admin key, and for a
 * change of the audit that of the operator.
 */
export async function ensure(
  terminal: Terminal,
  options: {
    json?: true;
    replicas?: number;
    auditGib?: number;
    operatorKey?: string;
    wait?: true;
  },
): Promise<void> {
  const target = await findBus(terminal.env, ADMIN_USER);
  const { replicas, auditGib } = options;
  const wanted = {
    ...(replicas === undefined ? {} : { replicas }),
    ...(auditGib === undefined ? {} : { auditBytes: auditGib * GIB }),
  };
  const connectTimeoutMs = options.wait ? WAIT_MS : CONNECT_MS;
  const result = await withBus(target, (bus) => ensureStreams(bus, wanted), { connectTimeoutMs });
  const operatorKey = options.operatorKey ?? keyOfDev(target, terminal.env);
  if (result.left.length > 0 && operatorKey !== null) {
    const updated = await updateAudit({ ...target, nkeyFile: operatorKey }, wanted);
    result.updated.push(...updated);
    result.left.length = 0;
  }
  if (options.json) writeJson(terminal, result);
  else {
    for (const name of result.created) terminal.out(`created ${name}`);
    for (const name of result.updated) terminal.out(`updated ${name}`);
    if (result.created.length + result.updated.length + result.left.length === 0)
      terminal.note("streams, consumers and buckets are as they should be");
  }
  if (result.left.length > 0) throw onlyByOperator(result.left);
}

interface Row {
  readonly stream: StreamLag;
  readonly queue: StreamLag["queues"][number] | null;
}

/** `yard streams list`: how full each stream is, and how far its consumers are behind. Needs the admin key. */
export async function list(terminal: Terminal, options: { json?: true }): Promise<void> {
  const streams = await withBus(await findBus(terminal.env, ADMIN_USER), queueLags);
  if (options.json) return writeJson(terminal, { streams });
  if (streams.length === 0)
    return terminal.note("there are no streams; make them with: ./yard streams ensure");
  const rows = streams.flatMap((stream): Row[] =>
    stream.queues.length === 0
      ? [{ stream, queue: null }]
      : stream.queues.map((queue) => ({ stream, queue })),
  );
  const ofQueue = (read: (queue: StreamLag["queues"][number]) => number) => (row: Row) =>
    row.queue === null ? "–" : String(read(row.queue));
  const lines = tableLines<Row>(
    [
      { title: "STREAM", value: ({ stream }) => stream.name },
      { title: "MESSAGES", value: ({ stream }) => String(stream.messages), align: "right" },
      { title: "SIZE", value: ({ stream }) => sizeText(stream), align: "right" },
      { title: "CONSUMER", value: ({ queue }) => queue?.name ?? "–" },
      { title: "WAITING", value: ofQueue(({ waiting }) => waiting), align: "right" },
      { title: "IN WORK", value: ofQueue(({ inWork }) => inWork), align: "right" },
      { title: "REDELIVERED", value: ofQueue(({ redelivered }) => redelivered), align: "right" },
    ],
    rows,
  );
  for (const line of lines) terminal.out(line);
}

function sizeText({ bytes, maxBytes }: StreamLag): string {
  return maxBytes < 0 ? formatBytes(bytes) : `${formatBytes(bytes)} of ${formatBytes(maxBytes)}`;
}

/** `yard dev` keeps the key of its own installation. */
function keyOfDev({ source }: BusTarget, env: NodeJS.ProcessEnv): string | null {
  return source === "dev" ? stateDirectory(env).operatorKey : null;
}

async function updateAudit(target: BusTarget, wanted: StreamOptions): Promise<readonly string[]> {
  const operator = { ...target, user: OPERATOR_USER };
  return (await withBus(operator, (bus) => ensureAudit(bus, wanted))).updated;
}

function onlyByOperator(names: readonly string[]): CliError {
  return new CliError(
    "forbidden",
    `${names.join(", ")} is not as wanted, and the admin may not change it`,
    {
      hint: "repeat it with --operator-key <file>; yard keys init --operator <file> makes that key",
    },
  );
}
