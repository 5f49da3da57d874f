import { count } from "../core/format.ts";
import { act, useResource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { Id } from "../ui/copy.tsx";
import { ask } from "../ui/dialog.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";

/** The rules that were in force, and which are now. */
export function Versions() {
  const versions = useResource("GET /policy/versions", {});
  // A change is meant for the rules that the person sees here as those in force.
  const newest = versions.data?.versions[0]?.version;
  const ifMatch = newest === undefined ? {} : { ifMatch: String(newest) };
  const activate = async (version: number): Promise<void> => {
    const note = await ask({
      title: `Activate version ${version}?`,
      text: "It decides about each call from then on.",
      action: `Activate version ${version}`,
      input: { label: "Why (for the record)" },
    });
    if (note === null) return;
    const body = { version, ...(note.trim() !== "" && { note: note.trim() }) };
    await act(`Version ${version} is active`, () =>
      client.request("POST /policy/activate", { body, ...ifMatch }),
    );
    versions.reload();
  };
  const rollBack = async (): Promise<void> => {
    const note = await ask({
      title: "Go back to the version before?",
      text: "The version that was active before this one decides about each call from then on.",
      action: "Roll back",
      input: { label: "Why (for the record)" },
    });
    if (note === null) return;
    const body = note.trim() === "" ? {} : { note: note.trim() };
    await act("The version before is active", () =>
      client.request("POST /policy/rollback", { body, ...ifMatch }),
    );
    versions.reload();
  };
  return (
    <ResourceView of={versions}>
      {(data) => (
        <>
          <p>
            {data.followsFiles
              ? "The rules follow their files: an edit counts at once."
              : "The rules are an activated version; edits of the files do not count."}
          </p>
          {may("POST /policy/rollback") && !data.followsFiles && (
            <div class="actions">
              <button type="button" class="button" onClick={() => void rollBack()}>
                Roll back…
              </button>
            </div>
          )}
          {(data.filesRefused ?? []).map((problem) => (
            <p key={problem} class="note bad">
              The files are refused: {problem}
            </p>
          ))}
          <ul class="lines card" data-testid="policy-versions">
            {data.versions.map(({ version, policyDigest, rules, source, by, at, note }) => (
              <li key={version}>
                <strong>{version}</strong>
                <span>
                  {count(rules, "rule")}, {source === "file" ? "from files" : `by ${by ?? "?"}`},{" "}
                  <Time at={at} />
                  {note !== null && `: ${note}`}
                </span>
                <Id value={policyDigest} shown={policyDigest.slice(0, 18)} />
                {policyDigest === data.policyDigest ? (
                  <Status is="active" />
                ) : may("POST /policy/activate") ? (
                  <button type="button" class="button small" onClick={() => void activate(version)}>
                    Activate
                  </button>
                ) : (
                  <span />
                )}
              </li>
            ))}
          </ul>
        </>
      )}
    </ResourceView>
  );
}
