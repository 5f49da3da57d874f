import { ensureStreams } from "@switchyard/bus/streams";
import { adminUser } from "@switchyard/contracts/topology";
import { findBus, withBus } from "../bus-session.ts";
import { writeJson, type Terminal } from "../terminal.ts";

const GIB = 1024 ** 3;

/** `yard streams ensure`: creates or updates streams, consumers and the payload bucket. Needs the admin key. */
export async function ensure(
  terminal: Terminal,
  options: { json?: true; replicas?: number; auditGib?: number },
): Promise<void> {
  const target = await findBus(process.env, adminUser.name);
  const { replicas, auditGib } = options;
  const result = await withBus(target, (bus) =>
    ensureStreams(bus, {
      ...(replicas === undefined ? {} : { replicas }),
      ...(auditGib === undefined ? {} : { auditBytes: auditGib * GIB }),
    }),
  );
  if (options.json) return writeJson(terminal, result);
  for (const name of result.created) terminal.out(`created ${name}`);
  for (const name of result.updated) terminal.out(`updated ${name}`);
  if (result.created.length + result.updated.length === 0) {
    terminal.note("streams, consumers and buckets are as they should be");
  }
}
