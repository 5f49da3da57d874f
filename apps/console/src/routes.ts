import type { Operation } from "@switchyard/client/client";
import type { ComponentType } from "preact";
import type { IconName } from "./ui/icon.tsx";

/** A view: its path, and how it is loaded. `{names}` are its parameters. */
export interface View {
  readonly path: string;
  /** In the navigation; missing: it is reached from another one. */
  readonly title?: string;
  readonly group?: "work" | "build" | "govern";
  readonly icon?: IconName;
  /** Without this right it is not in the navigation. */
  readonly needs?: Operation;
  /** Views of the same name stay on the page while the address moves between them. */
  readonly stays?: string;
  readonly load: () => Promise<ComponentType<{ params: Readonly<Record<string, string>> }>>;
}

export const views: readonly View[] = [
  {
    path: "/",
    title: "Overview",
    icon: "overview",
    group: "work",
    load: async () => (await import("./pages/overview.tsx")).Overview,
  },
  {
    path: "/runs",
    title: "Runs",
    icon: "runs",
    group: "work",
    needs: "GET /runs",
    load: async () => (await import("./pages/runs.tsx")).Runs,
  },
  { path: "/runs/{runId}", load: async () => (await import("./run/run-page.tsx")).RunPage },
  {
    path: "/compare/{left}/{right}",
    load: async () => (await import("./run/compare-runs.tsx")).CompareRuns,
  },
  {
    path: "/approvals",
    title: "Needs you",
    icon: "needs",
    group: "work",
    needs: "GET /approvals",
    load: async () => (await import("./pages/approvals.tsx")).Approvals,
  },
  {
    path: "/chat",
    title: "Chat",
    icon: "chat",
    group: "work",
    needs: "GET /sessions",
    stays: "chat",
    load: async () => (await import("./pages/chat.tsx")).Chat,
  },
  {
    path: "/chat/{session}",
    stays: "chat",
    load: async () => (await import("./pages/chat.tsx")).Chat,
  },
  {
    path: "/schedules",
    title: "Schedules",
    icon: "schedules",
    group: "work",
    needs: "GET /schedules",
    load: async () => (await import("./pages/schedules.tsx")).Schedules,
  },
  {
    path: "/schedules/{jobId}",
    load: async () => (await import("./pages/schedule.tsx")).SchedulePage,
  },
  {
    path: "/channels",
    title: "Channels",
    icon: "channels",
    group: "work",
    needs: "GET /channels/accounts",
    load: async () => (await import("./pages/channels.tsx")).Channels,
  },
  {
    path: "/channels/{channel}/{accountId}",
    load: async () => (await import("./pages/channel.tsx")).ChannelPage,
  },
  {
    path: "/webhooks",
    title: "Webhooks",
    icon: "webhooks",
    group: "work",
    needs: "GET /webhooks",
    load: async () => (await import("./pages/webhooks.tsx")).Webhooks,
  },
  { path: "/webhooks/{id}", load: async () => (await import("./pages/webhook.tsx")).WebhookPage },
  {
    path: "/agents",
    title: "Agents",
    icon: "agents",
    group: "build",
    needs: "GET /agents",
    load: async () => (await import("./pages/agents.tsx")).Agents,
  },
  { path: "/agents/{name}", load: async () => (await import("./pages/agents.tsx")).AgentPage },
  {
    path: "/skills",
    title: "Skills",
    icon: "skills",
    group: "build",
    needs: "GET /skills",
    load: async () => (await import("./pages/skills.tsx")).Skills,
  },
  { path: "/skills/{name}", load: async () => (await import("./pages/skills.tsx")).SkillPage },
  {
    path: "/review/skills/{name}",
    load: async () => (await import("./pages/review-version.tsx")).ReviewSkill,
  },
  {
    path: "/review/agents/{name}",
    load: async () => (await import("./pages/review-version.tsx")).ReviewAgent,
  },
  {
    path: "/tools",
    title: "Tools",
    icon: "tools",
    group: "build",
    needs: "GET /tools",
    load: async () => (await import("./pages/tools.tsx")).Tools,
  },
  { path: "/tools/{name}", load: async () => (await import("./pages/tools.tsx")).Tools },
  {
    path: "/servers",
    title: "MCP servers",
    icon: "servers",
    group: "build",
    needs: "GET /mcp/servers",
    load: async () => (await import("./pages/servers.tsx")).Servers,
  },
  { path: "/servers/{id}", load: async () => (await import("./pages/server.tsx")).ServerPage },
  {
    path: "/policy",
    title: "Policy",
    icon: "policy",
    group: "govern",
    needs: "POST /policy/explain",
    load: async () => (await import("./pages/policy.tsx")).Policy,
  },
  {
    path: "/audit",
    title: "Audit",
    icon: "audit",
    group: "govern",
    needs: "GET /audit",
    load: async () => (await import("./pages/audit.tsx")).Audit,
  },
  {
    path: "/system",
    title: "System",
    icon: "system",
    group: "govern",
    needs: "GET /system",
    load: async () => (await import("./pages/system.tsx")).System,
  },
];
