/* oxlint-disable unicorn/no-useless-spread -- related arguments stay together on one line */
import { setTimeout as delay } from "node:timers/promises";
import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import type { Service } from "@switchyard/bus/serve";
import {
  callsResumed,
  callsStopped,
  listStops,
  resumeCalls,
  type Stop,
  stopCalls,
} from "@switchyard/contracts/policy/policy-budgets";
import {
  activatePolicy,
  listPolicyVersions,
  readPolicyTexts,
  rollbackPolicy,
  versionActivated,
} from "@switchyard/contracts/policy/policy-bundles";
import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import { createStopHandlers } from "./stops/stop-handlers.ts";
import { createStopList, KNOWN_FOR_MS } from "./stops/stop-list.ts";
import type { PolicyInForce } from "./versions/check-texts.ts";
import { bundleName, type PolicyFile } from "./versions/policy-file.ts";
import { createPolicyVersions } from "./versions/policy-versions.ts";
import type { Validator } from "./versions/validator.ts";
import { createVersionHandlers } from "./versions/version-handlers.ts";
import { createVersionStore } from "./versions/version-store.ts";
import { LONGEST_LEASE_MS } from "./calls/decision-leases.ts";

/** The interval at which each replica polls the shared state. */
const LOOK_MS = 200;
/** After so long no replica decides without a stop any more, and every decision from before is over. */
const EVERYWHERE_MS = KNOWN_FOR_MS + LONGEST_LEASE_MS;

interface Kit {
  readonly bus: Bus;
  readonly log: Log;
  readonly redis: Redis;
  readonly onStop: (name: string, stop: () => Promise<void>) => void;
}

/**
 * Shares state between the replicas of the policy through Redis: the active bundle, and the stops. Each replica polls five times
 * a second; one that cannot read keeps its state, and logs that once.
 */
export async function startSharedState(kit: Kit, path: string, now: () => number) {
  const { bus, log, redis, onStop } = kit;
  const bundle = bundleName(path);
  const stops = createStopList(redis);
  const store = createVersionStore(redis);
  const versions = createPolicyVersions({
    store,
    now,
    onRefused: (version, errors) =>
      log.error({ bundle, version, errors }, "activated policy refused, the old one stays"),
  });
  await stops.refresh();
  const pinned: PolicyInForce | null = await versions.pinnedAtStart();
  const announce = (publication: Promise<unknown>) => {
    publication.catch((err: unknown) => log.warn({ err, bundle }, "policy event not published"));
  };

  return {
    /** The policies that come before the files, and after them where they have errors. */
    atStart: { pinned, lastOfFiles: () => versions.lastOfFiles() },
    stops,
    follow(policyFile: PolicyFile): void {
      const stopping = new AbortController();
      const looking = lookOften({ stopping: stopping.signal, log }, async () => {
        await stops.refresh();
        await versions.sync(policyFile);
      });
      onStop("shared state", async () => {
        stopping.abort();
        await looking;
      });
    },
    serve(
      service: Service,
      parts: {
        policyFile: PolicyFile;
        validator: Validator;
        admins: readonly string[];
        /** Ends pending approvals and grants that the stop is about. */
        endStopped: (stop: Stop) => Promise<void>;
      },
    ): void {
      const { policyFile: file, validator, admins } = parts;
      const bundles = createVersionHandlers({
        ...{ file, store, versions, validator, admins },
        onActivated: (version) =>
          announce(publishEvent(bus, versionActivated, { bundle }, { ...version, bundle })),
      });
      service.handle(activatePolicy, bundles.activate);
      service.handle(rollbackPolicy, bundles.rollback);
      service.handle(listPolicyVersions, bundles.versions);
      service.handle(readPolicyTexts, bundles.texts);
      const stopping = createStopHandlers({
        ...{ stops, admins, now },
        async everywhere(stop) {
          await delay(EVERYWHERE_MS);
          await parts.endStopped(stop);
        },
        onStopped: (stop) =>
          announce(publishEvent(bus, callsStopped, { scope: stop.scope.kind }, stop)),
        onResumed: (facts) =>
          announce(publishEvent(bus, callsResumed, { scope: facts.scope.kind }, facts)),
      });
      service.handle(stopCalls, stopping.stop);
      service.handle(resumeCalls, stopping.resume);
      service.handle(listStops, stopping.stops);
    },
  };
}

async function lookOften(
  { stopping, log }: { stopping: AbortSignal; log: Log },
  look: () => Promise<void>,
): Promise<void> {
  let isBlind = false;
  while (!stopping.aborted) {
    await delay(LOOK_MS, undefined, { signal: stopping, ref: false }).catch(() => undefined);
    if (stopping.aborted) return;
    try {
      await look();
      if (isBlind) log.info({}, "shared policy state is seen again");
      isBlind = false;
    } catch (err) {
      if (!isBlind) log.warn({ err }, "shared policy state cannot be seen, the last one stays");
      isBlind = true;
    }
  }
}
