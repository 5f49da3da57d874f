import type { RecalledMemory } from "@switchyard/contracts/toolbox/agent-memory";

/** A text that was read, or null when the run may not read it. */
export interface ReadMemory {
  readonly name: string;
  readonly text: string | null;
}

/**
 * Selects the memories that fit. Names come first, in their order, with up to half of the space: a model that has a memory's name
 * can read it. The rest is for texts, the shortest first, so that as many as possible are whole.
 */
export function fitMemories(read: readonly ReadMemory[], maxBytes: number): RecalledMemory[] {
  let nameRoom = Math.floor(maxBytes / 2);
  const named: ReadMemory[] = [];
  for (const memory of read) {
    const bytes = Buffer.byteLength(memory.name);
    if (bytes > nameRoom) break;
    nameRoom -= bytes;
    named.push(memory);
  }
  let room = maxBytes - (Math.floor(maxBytes / 2) - nameRoom);
  const shown = new Set<string>();
  for (const { name, text } of named.toSorted((a, b) => sizeOf(a) - sizeOf(b))) {
    const bytes = Buffer.byteLength(text ?? "");
    if (text === null || bytes > room) continue;
    room -= bytes;
    shown.add(name);
  }
  return named.map(({ name, text }) => ({
    name,
    text: shown.has(name) ? text : null,
    bytes: text === null ? null : Buffer.byteLength(text),
  }));
}

function sizeOf({ text }: ReadMemory): number {
  return text === null ? Number.POSITIVE_INFINITY : Buffer.byteLength(text);
}
