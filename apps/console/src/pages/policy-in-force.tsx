import type { Reply } from "@switchyard/client/client";
import type { PolicyVersion } from "@switchyard/client/operations";
import { count } from "../core/format.ts";
import { act, type Resource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { ask } from "../ui/dialog.tsx";
import { ProblemNote } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";

export type PolicyVersions = Resource<Reply<"GET /policy/versions">>;

/** The rules in force and whether the files count, above every part of the policy. */
export function InForce({ of: versions }: { of: PolicyVersions }) {
  const { data, problem, reload } = versions;
  if (data === null)
    return problem === null ? null : <ProblemNote {...{ problem }} onRetry={reload} />;
  const newest = data.versions[0];
  const follow = async (): Promise<void> => {
    const note = await ask({
      title: "Follow the files again?",
      text: "The rules of the files on disk replace those in force, and each edit of the files counts at once.",
      action: "Follow the files",
      input: { label: "Why (for the record)" },
    });
    if (note === null) return;
    const body = { followFiles: true as const, ...(note.trim() !== "" && { note: note.trim() }) };
    await act("The files are followed", () =>
      client.request("POST /policy/activate", {
        body,
        ...(newest !== undefined && { ifMatch: String(newest.version) }),
      }),
    );
    reload();
  };
  return (
    <section class="note" data-testid="in-force" aria-label="Rules in force">
      <p>
        <Status is="active">
          {newest === undefined ? "In force" : `Version ${newest.version} is in force`}
        </Status>
        {newest !== undefined && <Facts {...newest} />}
      </p>
      <div class="actions">
        <span class="quiet">
          {data.followsFiles
            ? "The rules follow the files on disk: an edit of them counts at once."
            : "Edits of the files on disk do not count."}
        </span>
        {!data.followsFiles && may("POST /policy/activate") && (
          <button
            type="button"
            class="button small"
            onClick={() => void follow()}
            data-testid="follow-files"
          >
            Follow the files again…
          </button>
        )}
      </div>
      {newest !== undefined && newest.policyDigest !== data.policyDigest && (
        <p>The service that answered is still changing to it.</p>
      )}
      {(data.filesRefused ?? []).map((line) => (
        <p key={line} class="bad-text">
          The files are refused: {line}
        </p>
      ))}
    </section>
  );
}

function Facts({ rules, source, by, at, note }: PolicyVersion) {
  return (
    <>
      : {count(rules, "rule")}, {source === "file" ? "from the files" : `activated by ${by ?? "?"}`}{" "}
      <Time at={at} />
      {note !== null && `: ${note}`}
    </>
  );
}
