import type { Reply } from "@switchyard/client/client";
import { useState } from "preact/hooks";
import { textsOf } from "../core/form.ts";
import { act, useAgainEvery, useResource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { Snippet } from "../ui/copy.tsx";
import { DataTable, type Column } from "../ui/data-table.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import type { Word } from "../ui/statuses.ts";
import { Time } from "../ui/time.tsx";

export type Webhook = Reply<"GET /webhooks">["webhooks"][number];
type Hook = Reply<"GET /hooks">["hooks"][number];

const COLUMNS: readonly Column<Webhook>[] = [
  { title: "State", cell: (webhook) => <Status is={stateOf(webhook)} /> },
  { title: "URL", isMain: true, cell: ({ url }) => url },
  { title: "Events", isWide: true, cell: ({ events }) => events.join(", ") },
  { title: "Agent", isWide: true, cell: ({ agent }) => agent ?? "all" },
  { title: "Made", isWide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

const HOOK_COLUMNS: readonly Column<Hook>[] = [
  { title: "Hook", cell: ({ name }) => `/hooks/${name}` },
  { title: "Agent", cell: ({ agent }) => agent },
  { title: "Signed as", isWide: true, cell: ({ signature }) => signature },
  {
    title: "Events",
    isWide: true,
    isMain: true,
    cell: ({ events }) => events?.join(", ") ?? "all",
  },
];

/** Deliveries have no events. */
export const LOOK_AGAIN_MS = 10_000;

/** Webhooks to URLs of the caller, and hooks that start runs. */
export function Webhooks() {
  const webhooks = useResource("GET /webhooks", {});
  useAgainEvery(webhooks, LOOK_AGAIN_MS);
  const [isAdding, setAdding] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const add = may("POST /webhooks") && (
    <button
      type="button"
      class="button primary"
      onClick={() => setAdding(true)}
      data-testid="add-webhook"
    >
      Add a webhook
    </button>
  );
  return (
    <Page
      title="Webhooks"
      about="Your events, signed and sent to your URLs."
      cli="yard webhooks list"
      nats="nats sub 'yard.evt.>'"
      actions={add}
    >
      <ResourceView
        of={webhooks}
        empty={(data) =>
          data.webhooks.length > 0 ? null : <p>Nothing is sent: you have no webhooks.</p>
        }
      >
        {(data) => (
          <DataTable
            label="Webhooks"
            testId="webhooks"
            height="half"
            columns={COLUMNS}
            rows={data.webhooks}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => `/webhooks/${id}`}
          />
        )}
      </ResourceView>
      {may("GET /hooks") && <Hooks />}
      {isAdding && (
        <AddWebhook
          onClose={() => setAdding(false)}
          onMade={(made) => {
            setAdding(false);
            setSecret(made);
            webhooks.reload();
          }}
        />
      )}
      {secret !== null && (
        <Dialog title="The webhook’s secret" onClose={() => setSecret(null)}>
          <p>It is shown this once. The receiver of the events checks their signature with it.</p>
          <Snippet label="Secret" text={secret} />
          <div class="actions end">
            <button type="button" class="button primary" onClick={() => setSecret(null)}>
              I have it
            </button>
          </div>
        </Dialog>
      )}
    </Page>
  );
}

function Hooks() {
  const hooks = useResource("GET /hooks", {});
  return (
    <>
      <h2>The other way round: hooks that start runs</h2>
      <ResourceView
        of={hooks}
        empty={(data) =>
          data.hooks.length > 0 ? null : (
            <p>
              There are none yet. They are declared in <code>hooks.json</code>.
            </p>
          )
        }
      >
        {(data) => (
          <DataTable
            label="Hooks that start runs"
            testId="hooks"
            height="half"
            columns={HOOK_COLUMNS}
            rows={data.hooks}
            keyOf={({ name }) => name}
          />
        )}
      </ResourceView>
    </>
  );
}

function AddWebhook({
  onClose,
  onMade,
}: {
  onClose: () => void;
  onMade: (secret: string) => void;
}) {
  const add = ({ agent, ...rest }: WebhookSettings): void => {
    const body = { ...rest, ...(agent !== null && { agent }) };
    void act("", async () => onMade((await client.request("POST /webhooks", { body })).secret));
  };
  return (
    <WebhookForm title="Add a webhook" action="Add the webhook" onClose={onClose} onSubmit={add} />
  );
}

interface WebhookSettings {
  readonly url: string;
  readonly events: string[];
  readonly agent: string | null;
}

/** Prompts for the URL and the events, with the current values of `webhook`. */
export function WebhookForm({
  title,
  action,
  webhook,
  onClose,
  onSubmit,
}: {
  title: string;
  action: string;
  webhook?: Webhook;
  onClose: () => void;
  onSubmit: (settings: WebhookSettings) => void;
}) {
  const { url = "", events = ["run.finished", "run.failed"], agent = null } = webhook ?? {};
  const submit = (event: SubmitEvent): void => {
    const text = textsOf(event);
    onSubmit({
      url: text("url").trim(),
      events: text("events")
        .split(/[\s,]+/)
        .filter((name) => name !== ""),
      agent: text("agent").trim() || null,
    });
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        <label class="field">
          <span>URL</span>
          <input
            name="url"
            type="url"
            required
            maxLength={2048}
            placeholder="https://"
            defaultValue={url}
          />
        </label>
        <label class="field">
          <span>Events, with * for several</span>
          <input name="events" required defaultValue={events.join(", ")} />
        </label>
        <label class="field">
          <span>Only of runs of this agent (optional)</span>
          <input name="agent" maxLength={64} defaultValue={agent ?? ""} />
        </label>
        <div class="actions end">
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
          <button class="button primary">{action}</button>
        </div>
      </form>
    </Dialog>
  );
}

/** The state of a webhook, in a word. */
export function stateOf({ status, failingSince }: Webhook): Word {
  if (status === "disabled") return "disabled";
  return failingSince === null ? "active" : "failing";
}
