import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import { agentRemoved } from "@switchyard/contracts/skill-importer/agent-store";
import { agentImported } from "@switchyard/contracts/skill-importer/agents";
import { batchImported, skillRemoved } from "@switchyard/contracts/skill-importer/skill-store";
import { skillImported } from "@switchyard/contracts/skill-importer/skills";
import type { Announcement, Superseded } from "../store/catalogue-commit.ts";
import type { CatalogueStore } from "../store/catalogue-store.ts";
import type { VersionStore } from "../store/version-store.ts";

export interface EventOutboxOptions {
  readonly bus: Bus;
  readonly store: CatalogueStore;
  readonly versions: VersionStore;
  readonly retryMs: number;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Publishes the committed announcements, oldest first and at least once: after a crash between the two the announcement is still
 * in Redis, and its id lets the stream deduplicate a repetition.
 */
export function createEventOutbox(options: EventOutboxOptions) {
  let last = Promise.resolve();
  let retry: NodeJS.Timeout | null = null;
  let isStopped = false;

  async function publishAll(): Promise<void> {
    if (retry !== null) clearTimeout(retry);
    retry = null;
    try {
      let isMore = true;
      // The order is kept, and an announcement leaves the list only when the stream has stored it.
      while (isMore) isMore = !isStopped && (await publishNext(options));
    } catch (error) {
      if (isStopped) return;
      options.onFailure(error);
      retry = setTimeout(() => void flush(), options.retryMs);
    }
  }

  /** Publishes the announcements in the store. Never rejects: an announcement that cannot be published stays and is retried. */
  function flush(): Promise<void> {
    last = last.then(publishAll);
    return last;
  }

  return {
    flush,
    /** Ends the tries; waits for the one under way. */
    async stop(): Promise<void> {
      isStopped = true;
      if (retry !== null) clearTimeout(retry);
      await last;
    },
  };
}

async function publishNext(options: EventOutboxOptions): Promise<boolean> {
  const { bus, store } = options;
  const next = await store.nextAnnouncement();
  if (next === null) return false;
  const { announcement } = next;
  if (announcement?.kind === "superseded") await retire(options, announcement);
  else if (announcement !== null) await publish(bus, announcement);
  await store.settleAnnouncement(next.raw);
  return true;
}

/**
 * Expires a version that no entry named when its successor was committed. This may run late, or twice, so it checks before and
 * after whether an entry names the version again.
 */
async function retire({ store, versions }: EventOutboxOptions, item: Superseded): Promise<void> {
  const { what, name, version } = item;
  if (await store.isNamed(what, name, version)) return;
  await versions.retire(item);
  if (await store.isNamed(what, name, version)) await versions.restore(what, name, version);
}

async function publish(bus: Bus, announcement: Exclude<Announcement, Superseded>): Promise<void> {
  const { id, at, kind } = announcement;
  const once = { messageId: id };
  switch (kind) {
    case "skill": {
      const { summary: skill, warnings: unmet = [] } = announcement;
      const warnings = [...skill.diagnostics.map(({ message }) => message), ...unmet];
      const dependenciesMet = announcement.dependenciesMet ?? null;
      const payload = { skill, warnings, dependenciesMet, at };
      await publishEvent(bus, skillImported, { skill: skill.name }, payload, once);
      break;
    }
    case "agent": {
      const { summary: agent } = announcement;
      await publishEvent(bus, agentImported, { agent: agent.name }, { agent, at }, once);
      break;
    }
    case "skill-removed": {
      const { name: skill, version } = announcement;
      await publishEvent(bus, skillRemoved, { skill }, { skill, version, at }, once);
      break;
    }
    case "agent-removed": {
      const { name: agent, digest } = announcement;
      await publishEvent(bus, agentRemoved, { agent }, { agent, digest, at }, once);
      break;
    }
    case "import": {
      const { label, by, imported, failed, totalScanned } = announcement;
      const payload = { label, by, imported, failed, totalScanned, at };
      await publishEvent(bus, batchImported, { importId: id }, payload, once);
      break;
    }
    default:
      kind satisfies never;
  }
}
