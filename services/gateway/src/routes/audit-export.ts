import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { listAudit } from "@switchyard/contracts/audit-queries";
import type { z } from "zod";

type Filter = Pick<z.input<typeof listAudit.request>, "since" | "until">;

/**
 * The records of a range, oldest first, one JSON document a line. The first part is read before there is an answer, so that a
 * refusal is one. An error later on cuts the answer, so that nobody takes a part for the whole.
 */
export async function exportAudit(
  bus: Bus,
  filter: Filter,
  /** A user token is good for a minute, an export may take longer. */
  userToken: () => Promise<string>,
): Promise<ReadableStream<Uint8Array>> {
  const read = async (cursor: string | null) =>
    call(
      bus,
      listAudit,
      { ...filter, order: "oldest", limit: 500, ...(cursor !== null && { cursor }) },
      { userToken: await userToken() },
    );
  const encoder = new TextEncoder();
  let part: z.output<typeof listAudit.reply> | null = await read(null);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      while (part !== null) {
        const { records, cursor } = part;
        const lines = records.map((record) => `${JSON.stringify(record)}\n`).join("");
        if (lines !== "") controller.enqueue(encoder.encode(lines));
        part = cursor === null ? null : await read(cursor);
        if (lines !== "") return;
      }
      controller.close();
    },
  });
}
