import type { OwnOperations } from "../routes/own-operations.ts";
import { listHooks } from "../routes/webhook-operations.ts";
import type { Hooks } from "./hooks-file.ts";

export function serveHookList(own: OwnOperations, hooks: Hooks): void {
  const shown = [...hooks.values()].map(({ name, agent, form: signature, events }) => ({
    name,
    agent,
    signature,
    events: events === null ? null : [...events],
  }));
  own.add(listHooks, async () => ({ hooks: shown }));
}
