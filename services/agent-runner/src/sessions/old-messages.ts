import { ownerOfRun } from "@switchyard/contracts/ids";
import type { OldRun } from "../journal/run-names.ts";
import type { SessionParts } from "./session-parts.ts";

const PAGE = 200;

/** Lists the messages that wait in sessions under an id without an owner: each becomes a run of that id when its turn comes. */
export async function oldMessages({
  index,
  store,
}: Pick<SessionParts, "index" | "store">): Promise<OldRun[]> {
  const found: OldRun[] = [];
  for (let start = 0; ; start += PAGE) {
    const places = await index.page(null, start, PAGE);
    for (const { slot } of places) {
      const { session } = (await store.read(slot)).record;
      if (session === null) continue;
      const { active, queue, updatedAt: createdAt } = session;
      const waiting = active === null || active.begun ? queue : [active, ...queue];
      for (const { runId, requester } of waiting)
        if (ownerOfRun(runId) === null) found.push({ runId, requester, createdAt });
    }
    if (places.length < PAGE) return found;
  }
}
