import { BY, declaredId, declareJob, type Declaration } from "@switchyard/project/jobs/declare-job";
import type { Change } from "@switchyard/project/jobs/job-record";
import { removalEntries } from "../domain/take-due.ts";
import type { JobStore, Stored } from "../store/job-store.ts";

/** The changes made by a load of the file, by the ids of triggers. */
export interface Reconciled {
  readonly declared: readonly string[];
  readonly removed: readonly string[];
}

const MOST_ATTEMPTS = 20;

/**
 * Makes the declared jobs those of the file: new ones are added, changed ones changed, and those that it no longer has are
 * removed. Jobs that users added stay unchanged. Safe to repeat, and for several replicas at a time. Rejects with StoreError.
 */
export async function reconcile(
  store: JobStore,
  declarations: readonly Declaration[],
  now: () => number,
): Promise<Reconciled> {
  const declared: string[] = [];
  for (const declaration of declarations) {
    const id = declaredId(declaration);
    const isChanged = await change(store, id, now, (stored) =>
      declareJob(stored?.record ?? null, declaration, now()),
    );
    if (isChanged) declared.push(declaration.name);
  }
  const wanted = new Set(declarations.map(declaredId));
  const removed: string[] = [];
  for (const { record } of await store.list(null)) {
    const { id, declaredAs } = record.job;
    if (declaredAs === undefined || wanted.has(id)) continue;
    const isChanged = await change(store, id, now, (stored) => {
      if (stored === null) return null;
      const entries = removalEntries(stored.record, now());
      return { record: null, entries, events: [{ kind: "removed", facts: { by: BY } }] };
    });
    if (isChanged) removed.push(declaredAs);
  }
  return { declared, removed };
}

// oxlint-disable-next-line max-params -- the store, the job, the time and the change
async function change(
  store: JobStore,
  id: string,
  now: () => number,
  decide: (stored: Stored | null) => Change | null,
): Promise<boolean> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const stored = await store.load(id);
    const wanted = decide(stored);
    if (wanted === null) return false;
    if ((await store.write(id, stored, wanted, { now: now() })) === "ok") return true;
  }
  throw new Error(`job ${id} was changed by others ${MOST_ATTEMPTS} times in a row`);
}
