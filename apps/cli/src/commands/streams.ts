import { ensureAudit, ensureStreams, type StreamOptions } from "@switchyard/bus/streams";
import { adminUser, operatorUser } from "@switchyard/contracts/topology";
import { findBus, withBus, type BusTarget } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { stateDirectory } from "../locations.ts";
import { writeJson, type Terminal } from "../terminal.ts";

const GIB = 1024 ** 3;

/**
 * `yard streams ensure`: creates or updates streams, consumers and the payload bucket. Needs the admin key, and for a
 * change of the audit that of the operator.
 */
export async function ensure(
  terminal: Terminal,
  options: { json?: true; replicas?: number; auditGib?: number; operatorKey?: string },
): Promise<void> {
  const target = await findBus(process.env, adminUser.name);
  const { replicas, auditGib } = options;
  const wanted = {
    ...(replicas === undefined ? {} : { replicas }),
    ...(auditGib === undefined ? {} : { auditBytes: auditGib * GIB }),
  };
  const result = await withBus(target, (bus) => ensureStreams(bus, wanted));
  const operatorKey = options.operatorKey ?? keyOfDev(target);
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

/** `yard dev` keeps the key of its own installation. */
function keyOfDev({ source }: BusTarget): string | null {
  return source === "dev" ? stateDirectory(process.env).operatorKey : null;
}

async function updateAudit(target: BusTarget, wanted: StreamOptions): Promise<readonly string[]> {
  const operator = { ...target, user: operatorUser.name };
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
