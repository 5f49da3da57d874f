import { randomUUID } from "node:crypto";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { exportAudit as contract } from "@switchyard/contracts/policy/audit-queries";
import type { z } from "zod";

type Filter = Pick<z.input<typeof contract.request>, "since" | "until">;

/**
 * Exports the records of a range, oldest first, one JSON document a line, and after each part of them the line that the policy
 * service has signed. The first part is read before the answer starts, so that a refusal gets its own status. A later error
 * cuts the connection, so that no reader mistakes a part for the whole.
 */
export async function exportAudit(
  bus: Bus,
  filter: Filter,
  /** A user token is valid for a minute, and an export may take longer. */
  userToken: () => Promise<string>,
): Promise<ReadableStream<Uint8Array>> {
  const id = randomUUID();
  const read = async (place: Pick<z.input<typeof contract.request>, "part" | "from" | "upTo">) =>
    call(bus, contract, { ...filter, export: id, ...place }, { userToken: await userToken() });
  const encoder = new TextEncoder();
  let reply: z.output<typeof contract.reply> | null = await read({ part: 1 });
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (reply === null) return controller.close();
      const { records, part, next: from, upTo } = reply;
      const isEmpty = from === null && part.part === 1 && records.length === 0;
      const lines = isEmpty ? [] : [...records, part].map((line) => `${JSON.stringify(line)}\n`);
      controller.enqueue(encoder.encode(lines.join("")));
      reply = from === null ? null : await read({ part: part.part + 1, from, upTo });
    },
  });
}
