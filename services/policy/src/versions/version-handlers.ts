import type { Handler } from "@switchyard/bus/handler";
import { cutText } from "@switchyard/contracts/cut-text";
import { changedMessage } from "@switchyard/contracts/if-version";
import { failuresOf } from "@switchyard/contracts/errors";
import {
  activatePolicy,
  type listPolicyVersions,
  type readPolicyTexts,
  MAX_REFUSED_LINES,
  type rollbackPolicy,
  type PolicyVersion,
} from "@switchyard/contracts/policy/policy-bundles";
import { storeFailureAs } from "@switchyard/service/store-error";
import { checkAdmin } from "../check-admin.ts";
import type { PolicyFile } from "./policy-file.ts";
import { publicOf, rollbackTarget, type PolicyVersions } from "./policy-versions.ts";
import { splitTexts, type PolicyTexts } from "@switchyard/rules/engine/validate";
import { MAX_CHANGES, type Validator } from "./validator.ts";
import { filesOf, VersionChanged, type VersionStore } from "./version-store.ts";

export interface VersionHandlers {
  readonly activate: Handler<typeof activatePolicy>;
  readonly rollback: Handler<typeof rollbackPolicy>;
  readonly versions: Handler<typeof listPolicyVersions>;
  readonly texts: Handler<typeof readPolicyTexts>;
}

const fail = failuresOf(activatePolicy.errors);

// oxlint-disable-next-line max-lines-per-function -- three handlers that share two checks
export function createVersionHandlers(parts: {
  readonly file: PolicyFile;
  readonly store: VersionStore;
  readonly versions: PolicyVersions;
  readonly validator: Validator;
  /** NATS users that may change the policy in force. */
  readonly admins: readonly string[];
  readonly onActivated: (version: PolicyVersion) => void;
}): VersionHandlers {
  const { file, store, versions, validator, admins, onActivated } = parts;

  /** Checks texts like a file's and returns their policy. */
  const check = async (texts: PolicyTexts, by: { caller: string; signal: AbortSignal }) => {
    const checked = await validator.validate(texts, { ...by, isChange: true });
    if (checked === null)
      throw fail.overloaded("another change of the policy is being checked; try again", {
        limit: MAX_CHANGES,
      });
    const { valid, policyDigest, rules, problems, tests } = checked;
    if (valid && policyDigest !== null) return { texts, policyDigest, rules };
    const failing = tests.filter(({ passed }) => !passed).slice(0, 100);
    throw fail.refused("the bundle has problems or a test of it fails; nothing was changed", {
      problems,
      failing,
    });
  };
  const stored = async (version: number) => {
    const found = await store.read(version);
    if (found !== null) return found;
    throw fail.unknown_version(
      `there is no version ${version} of the policy; policy.versions lists those that are kept`,
      { version },
    );
  };

  const answered = <T>(work: () => Promise<T>) => orRefused(store, work);
  return {
    activate: (request, context) =>
      answered(async () => {
        const { caller, signal } = context;
        const { files, version, followFiles, note = null, ifVersion } = request;
        checkAdmin(admins, context);
        const given = Object.entries({ files, version, followFiles });
        const names = given.flatMap(([name, value]) => (value === undefined ? [] : [name]));
        if (names.length !== 1)
          throw fail.bad_request_choice("give exactly one of files, version and followFiles", {
            given: names,
          });
        if (followFiles === true) {
          const followed = await versions.followFiles(file, ifVersion);
          if (followed === null)
            throw fail.refused(
              `the files on disk have errors; nothing was changed: ${refusalOf(file)?.join("; ") ?? ""}`,
              { problems: [], failing: [] },
            );
          onActivated(followed.active);
          return followed;
        }
        const old = version === undefined ? null : await stored(version);
        const checked = await check(splitTexts(old?.files ?? files ?? []), { caller, signal });
        const restores = old === null ? null : (old.restores ?? old.version);
        const change = { ...checked, by: caller, note, restores, ifVersion };
        const activated = await versions.activate(file, change);
        onActivated(activated.active);
        return activated;
      }),

    rollback: ({ note = null, ifVersion }, context) =>
      answered(async () => {
        const { caller, signal } = context;
        checkAdmin(admins, context);
        const target = rollbackTarget(await store.list());
        if (target === null)
          throw fail.unknown_version("no other bundle was in force before this one", {
            version: null,
          });
        const checked = await check(splitTexts(target.files), { caller, signal });
        const restores = target.restores ?? target.version;
        const change = { ...checked, by: caller, note, restores, ifVersion };
        const activated = await versions.activate(file, change);
        onActivated(activated.active);
        return activated;
      }),

    versions: () =>
      orUnavailable(async () => ({
        policyDigest: file.current.digest,
        followsFiles: !(await store.active()).isPinned,
        filesRefused: refusalOf(file),
        versions: (await store.list()).map(publicOf),
      })),

    texts: (_, context) =>
      orUnavailable(async () => {
        checkAdmin(admins, context);
        const { version } = await store.active();
        const newest = await store.read(version);
        if (newest !== null)
          return { version, policyDigest: newest.policyDigest, files: newest.files };
        return { version: 0, policyDigest: file.current.digest, files: filesOf(file.texts) };
      }),
  };
}

function refusalOf({ refusal: lines }: PolicyFile): string[] | null {
  return lines?.slice(0, MAX_REFUSED_LINES).map((line) => cutText(line, 2_000)) ?? null;
}

async function orRefused<T>(store: VersionStore, work: () => Promise<T>): Promise<T> {
  return orUnavailable(async () => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof VersionChanged)) throw error;
      const version = String((await store.active()).version);
      throw fail.version_changed(changedMessage("the policy", version), { version });
    }
  });
}

const orUnavailable = storeFailureAs(({ message, name }) =>
  fail.store_unavailable(`${message}; nothing was changed, try again`, { cause: name }),
);
