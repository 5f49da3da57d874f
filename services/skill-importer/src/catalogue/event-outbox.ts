import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import { agentRemoved } from "@switchyard/contracts/skill-importer/agent-store";
import { agentImported } from "@switchyard/contracts/skill-importer/agents";
import { batchImported, skillRemoved } from "@switchyard/contracts/skill-importer/skill-store";
import { skillImported } from "@switchyard/contracts/skill-importer/skills";
import { startRounds } from "@switchyard/service/rounds";
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

/** Publishes the committed announcements in their order. Their ids let the stream deduplicate a repetition. */
export function createEventOutbox(options: EventOutboxOptions) {
  const { store, retryMs, onFailure } = options;
  let isStopped = false;
  const rounds = startRounds({
    everyMs: retryMs,
    async round() {
      await store.publishAnnouncements(
        (one) => publishOne(options, one),
        () => isStopped,
      );
      return Number.POSITIVE_INFINITY;
    },
    onError: (error) => isStopped || onFailure(error),
  });
  return {
    /** Publishes the announcements in the store. Never rejects: an announcement that cannot be published stays and is retried. */
    flush: (): Promise<void> => rounds.wake(),
    /** Ends the tries; waits for the one under way. */
    async stop(): Promise<void> {
      isStopped = true;
      await rounds.stop();
    },
  };
}

function publishOne(options: EventOutboxOptions, announcement: Announcement): Promise<void> {
  if (announcement.kind === "superseded") return retire(options, announcement);
  return publish(options.bus, announcement);
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
