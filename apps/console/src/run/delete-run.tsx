import { useState } from "preact/hooks";
import { act } from "../core/resource.ts";
import { navigate } from "../core/router.ts";
import { client, may } from "../core/session.ts";
import { ask } from "../ui/dialog.tsx";

/** Deletes an ended run after a prompt; `reload` reads the run again when it was not deleted. */
export function DeleteRun(props: { runId: string; name: string; reload: () => void }) {
  const { runId, name, reload } = props;
  const [isBusy, setBusy] = useState(false);
  if (!may("DELETE /runs/{runId}")) return null;
  const remove = async (): Promise<void> => {
    const answer = await ask({
      title: `Delete ${name}?`,
      text: <WhatGoes />,
      action: "Delete the run",
      isDangerous: true,
    });
    if (answer === null) return;
    setBusy(true);
    const isDone = await act(`${name} is deleted`, () => requestDeletion(runId));
    setBusy(false);
    if (isDone) navigate("/runs");
    else reload();
  };
  return (
    <button
      type="button"
      class="button danger"
      disabled={isBusy}
      onClick={() => void remove()}
      data-testid="delete"
    >
      Delete
    </button>
  );
}

/** The same as "What a deletion leaves" in docs/security.md. */
function WhatGoes() {
  return (
    <>
      Its input, answer, steps, large texts and events are deleted, and no reader finds the run any
      more. This cannot be undone.
      <br />
      <br />
      These stay elsewhere, each for its own time: runs that it started, the history of its session,
      uploaded files, results of calls and jobs, values behind masks, approvals, the beginning of
      its input (a day at most), what webhooks and chats were sent, logs, traces and backups. The
      audit names who deleted the run.
    </>
  );
}

async function requestDeletion(runId: string): Promise<void> {
  const { outcome } = await client.request("DELETE /runs/{runId}", { path: { runId } });
  if (outcome === "absent")
    throw new Error(
      "The run was deleted before, or you may only read it. Its requester and administrators may delete it.",
    );
}
