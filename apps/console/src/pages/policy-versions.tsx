import type { PolicyVersion } from "@switchyard/client/operations";
import { count } from "../core/format.ts";
import { act } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { Id } from "../ui/copy.tsx";
import { ask } from "../ui/dialog.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";
import type { PolicyVersions } from "./policy-in-force.tsx";

/** The versions that were in force, each of which can come back into force under its number. */
export function Versions({ of: versions }: { of: PolicyVersions }) {
  const newest = versions.data?.versions[0];
  const rollBack = async ({ version, rules }: PolicyVersion): Promise<void> => {
    if (newest === undefined) return;
    const note = await ask({
      title: `Roll back to version ${version}?`,
      text: `Its ${count(rules, "rule")} replace those of version ${newest.version} and decide about each call from then on. The files on disk are not followed.`,
      action: `Roll back to version ${version}`,
      input: { label: "Why (for the record)" },
    });
    if (note === null) return;
    const body = { version, ...(note.trim() !== "" && { note: note.trim() }) };
    // A change is meant for the rules that the person sees here as those in force.
    await act(`The rules of version ${version} are in force`, () =>
      client.request("POST /policy/activate", { body, ifMatch: String(newest.version) }),
    );
    versions.reload();
  };
  return (
    <ResourceView
      of={versions}
      empty={(data) => (data.versions.length > 0 ? null : <p>No version is stored yet.</p>)}
    >
      {(data) => (
        <ul class="lines card" data-testid="policy-versions">
          {data.versions.map((one) => {
            const { version, policyDigest, rules, source, by, at, note } = one;
            return (
              <li key={version}>
                <strong>Version {version}</strong>
                <span>
                  {count(rules, "rule")}, {source === "file" ? "from files" : `by ${by ?? "?"}`},{" "}
                  <Time at={at} />
                  {note !== null && `: ${note}`}
                </span>
                <Id value={policyDigest} shown={policyDigest.slice(0, 18)} />
                {version === newest?.version ? (
                  <Status is="active">in force</Status>
                ) : policyDigest === newest?.policyDigest ? (
                  <span class="quiet">the same rules</span>
                ) : may("POST /policy/activate") ? (
                  <button type="button" class="button small" onClick={() => void rollBack(one)}>
                    Roll back to version {version}…
                  </button>
                ) : (
                  <span />
                )}
              </li>
            );
          })}
        </ul>
      )}
    </ResourceView>
  );
}
