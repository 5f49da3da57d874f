import { listMemories as contract } from "@switchyard/contracts/toolbox/agent-memory";
import { cutText } from "@switchyard/contracts/cut-text";
import { failuresOf } from "@switchyard/contracts/errors";
import type { z } from "zod";
import type { MemoryStore } from "../memory/memory-store.ts";
import type { MemoryScope } from "../tool.ts";

type Request = z.output<typeof contract.request>;
type Reply = z.input<typeof contract.reply>;

const MAX_PREVIEW = 200;
const fail = failuresOf(contract.errors);

/** Lists what an agent stored for the caller, all or what has a text. */
export async function listMemories(
  store: Pick<MemoryStore, "names" | "read">,
  { agent, search }: Request,
  caller: string,
): Promise<Reply> {
  const scope: MemoryScope = { agent, owner: caller };
  const wanted = search?.toLowerCase();
  try {
    const names = await store.names(scope);
    const texts = await Promise.all(names.map((name) => store.read(scope, name)));
    const memories = names.flatMap((name, index) => {
      const text = texts[index] ?? null;
      const preview = text === null ? null : previewOf(name, text, wanted);
      return preview === null ? [] : [{ name, bytes: Buffer.byteLength(text ?? ""), preview }];
    });
    return { memories };
  } catch (error) {
    const cause = String(error);
    throw fail.store_unavailable(
      `The agents' memory cannot be read now: ${cause}; try again when Redis is up.`,
      { cause },
    );
  }
}

/** Returns the line to show; null when neither name nor content has the text. */
function previewOf(name: string, text: string, wanted: string | undefined): string | null {
  const lines = text.split("\n");
  const found =
    wanted === undefined ? undefined : lines.find((line) => line.toLowerCase().includes(wanted));
  if (wanted !== undefined && found === undefined && !name.toLowerCase().includes(wanted))
    return null;
  return cutText(found ?? lines.find((line) => line.trim() !== "") ?? "", MAX_PREVIEW);
}
