import { useState } from "preact/hooks";
import { textsOf } from "../core/form.ts";
import { act, useResource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { Id, Snippet } from "../ui/copy.tsx";
import { ask, Dialog } from "../ui/dialog.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";

const ROLES = ["viewer", "operator", "approver", "admin"] as const;

export function System() {
  return (
    <Page
      title="System"
      about="API keys, models, and work that was given up."
      cli="yard doctor"
      nats="nats req '$SRV.INFO' ''"
    >
      {may("GET /keys") && <Keys />}
      <DeadRuns />
      <Models />
    </Page>
  );
}

function Keys() {
  const keys = useResource("GET /keys", {});
  const [made, setMade] = useState<string | null>(null);
  const [isMaking, setMaking] = useState(false);
  const revoke = async (id: string, caller: string): Promise<void> => {
    const answer = await ask({
      title: `Revoke the key ${id}?`,
      text: `What ${caller} does with it is refused at once, everywhere.`,
      action: "Revoke the key",
      isDangerous: true,
    });
    if (answer === null) return;
    await act(`${id} is revoked`, () => client.request("DELETE /keys/{id}", { path: { id } }));
    keys.reload();
  };
  return (
    <section class="card">
      <div class="card-head">
        <h2>API keys</h2>
        {may("POST /keys") && (
          <button type="button" class="button" onClick={() => setMaking(true)}>
            Make a key
          </button>
        )}
      </div>
      <ResourceView
        of={keys}
        empty={(data) =>
          data.keys.length > 0 ? null : <p>There is no key. Programs and people need one each.</p>
        }
      >
        {(data) => (
          <ul class="lines" data-testid="keys">
            {data.keys.map(({ id, caller, roles, note, expiresAt, revokedAt, createdAt }) => (
              <li key={id}>
                <Status is={revokedAt === null ? "active" : "revoked"} />
                <strong>{caller}</strong>
                <span>{roles.join(", ")}</span>
                <span class="quiet">
                  {note !== null && `${note} · `}made <Time at={createdAt} />
                  {expiresAt !== null && (
                    <>
                      , ends <Time at={expiresAt} />
                    </>
                  )}
                </span>
                <Id value={id} />
                {revokedAt === null && may("DELETE /keys/{id}") ? (
                  <button
                    type="button"
                    class="button small"
                    onClick={() => void revoke(id, caller)}
                  >
                    Revoke
                  </button>
                ) : (
                  <span />
                )}
              </li>
            ))}
          </ul>
        )}
      </ResourceView>
      {isMaking && (
        <MakeKey
          onClose={() => setMaking(false)}
          onMade={(key) => {
            setMaking(false);
            setMade(key);
            keys.reload();
          }}
        />
      )}
      {made !== null && (
        <Dialog title="The new key" onClose={() => setMade(null)}>
          <p>It is shown this once.</p>
          <Snippet label="API key" text={made} />
          <div class="actions end">
            <button type="button" class="button primary" onClick={() => setMade(null)}>
              I have it
            </button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

function MakeKey({ onClose, onMade }: { onClose: () => void; onMade: (key: string) => void }) {
  const submit = (event: SubmitEvent): void => {
    const form = event.currentTarget as HTMLFormElement;
    const text = textsOf(event);
    const roles = ROLES.filter((role) => new FormData(form).has(role));
    const note = text("note").trim();
    const days = Number(text("days"));
    const body = {
      caller: text("caller"),
      roles,
      ...(note !== "" && { note }),
      ...(days > 0 && { ttlSeconds: days * 86_400 }),
    };
    void act("", async () => onMade((await client.request("POST /keys", { body })).key));
  };
  return (
    <Dialog title="Make a key" onClose={onClose}>
      <form onSubmit={submit}>
        <label class="field">
          <span>For whom: a caller’s name</span>
          <input name="caller" required maxLength={32} pattern="[a-z0-9][a-z0-9\-]*" />
        </label>
        <fieldset>
          <legend>Roles</legend>
          {ROLES.map((role) => (
            <label key={role} class="check">
              <input type="checkbox" name={role} defaultChecked={role === "viewer"} />
              {role}
            </label>
          ))}
        </fieldset>
        <label class="field">
          <span>Days that it lasts</span>
          <input name="days" type="number" min={1} max={3650} defaultValue="90" />
        </label>
        <label class="field">
          <span>Note (optional)</span>
          <input name="note" maxLength={200} />
        </label>
        <div class="actions end">
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
          <button class="button primary">Make the key</button>
        </div>
      </form>
    </Dialog>
  );
}

function DeadRuns() {
  const dead = useResource("GET /runs/dead", {}, ["run"]);
  const retry = async (runId: string): Promise<void> => {
    await act("The run goes on", () =>
      client.request("POST /runs/{runId}/retry", { path: { runId }, body: {} }),
    );
    dead.reload();
  };
  return (
    <section class="card">
      <h2>Given up</h2>
      <ResourceView
        of={dead}
        empty={(data) =>
          data.runs.length + (data.letters?.length ?? 0) > 0 ? null : (
            <p>No run killed its runners: nothing was given up.</p>
          )
        }
      >
        {(data) => (
          <ul class="lines" data-testid="dead">
            {data.runs.map(({ runId, agent, failure }) => (
              <li key={runId}>
                <Status is="dead" />
                <a href={`/runs/${encodeURIComponent(runId)}`}>{agent}</a>
                <span class="text">{failure.message}</span>
                {may("POST /runs/{runId}/retry") ? (
                  <button type="button" class="button small" onClick={() => void retry(runId)}>
                    Retry
                  </button>
                ) : (
                  <span />
                )}
              </li>
            ))}
            {data.letters?.map(({ runId, subject, failure, sentAt }) => (
              <li key={subject + runId}>
                <Status is="dead">command</Status>
                <code>{subject}</code>
                <span class="text">{failure.message}</span>
                <Time at={sentAt} />
              </li>
            ))}
          </ul>
        )}
      </ResourceView>
    </section>
  );
}

function Models() {
  const models = useResource("GET /models", {});
  return (
    <section class="card">
      <h2>Models</h2>
      <ResourceView of={models}>
        {(data) => (
          <>
            <p>
              The default is <code>{data.default}</code>.
            </p>
            <ul class="lines">
              {data.providers.map(({ name, type, hasKey }) => (
                <li key={name}>
                  <Status is={hasKey ? "ready" : "off"}>{hasKey ? "has a key" : "no key"}</Status>
                  <strong>{name}</strong>
                  <span class="quiet">{type}</span>
                </li>
              ))}
            </ul>
          </>
        )}
      </ResourceView>
    </section>
  );
}
