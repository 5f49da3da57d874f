import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { assertionOf, commentProblems, textOf, titleOf, wordingProblems } from "./plain-words.ts";
import { textCutProblem, type Expression } from "./text-cuts.ts";
import { forbiddenImport } from "./layers.ts";
import { declaredFloors, floorName, upwardImport } from "./layout.ts";

// Rules of this repository for oxlint. The types are the part of its plugin interface that is used here.

interface Node {
  readonly source?: { readonly value?: unknown } | null;
}

interface Comment extends Node {
  readonly type: string;
  readonly value: string;
  readonly loc: {
    readonly start: { readonly line: number };
    readonly end: { readonly line: number };
  };
}

interface Context {
  readonly filename: string;
  readonly sourceCode: { getAllComments(): readonly Comment[] };
  report(problem: { readonly node: Node; readonly message: string }): void;
}

const ROOT = join(import.meta.dirname, "../..");

const floorsOf = new Map<string, ReadonlyMap<string, number> | undefined>();

/** Imports of a service, or of a library that has a Layout, go down in the order of folders that its README declares under "Layout". */
const layout = {
  create(context: Context) {
    const [, folder, kind, path] =
      /^(.*\/(libs|services)\/[^/]+)\/src\/(.+)$/.exec(context.filename.replaceAll("\\", "/")) ??
      [];
    if (folder === undefined || path === undefined) return {};
    const isFirst = !floorsOf.has(folder);
    if (isFirst) floorsOf.set(folder, readFloors(join(folder, "README.md")));
    const floors = floorsOf.get(folder);
    if (floors === undefined && kind === "libs") return {};
    const check = (node: Node): void => {
      const specifier = node.source?.value;
      if (floors === undefined || typeof specifier !== "string") return;
      const message = upwardImport(floors, path, specifier);
      if (message !== null) context.report({ node, message });
    };
    return {
      Program(node: Node) {
        if (floors === undefined)
          return context.report({
            node,
            message: "The service's README has no list under Layout.",
          });
        const own = floorName(path);
        if (!floors.has(own))
          context.report({ node, message: `${own} is not in the Layout of the service's README.` });
        if (!isFirst) return;
        for (const name of floors.keys())
          if (!existsSync(join(folder, "src", name)))
            context.report({
              node,
              message: `The README's Layout names ${name}, which is not there.`,
            });
      },
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
    };
  },
};

function readFloors(readme: string): ReadonlyMap<string, number> | undefined {
  return existsSync(readme) ? declaredFloors(readFileSync(readme, "utf8")) : undefined;
}

/** A package imports what the table of layers allows. */
const layers = {
  create(context: Context) {
    const file = relative(ROOT, context.filename).replaceAll("\\", "/");
    const check = (node: Node): void => {
      const specifier = node.source?.value;
      if (typeof specifier !== "string") return;
      const message = forbiddenImport(file, specifier);
      if (message !== null) context.report({ node, message });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
    };
  },
};

/** Texts are cut in one place, by whole characters. */
const textCuts = {
  create(context: Context) {
    return {
      CallExpression(node: Expression & Node) {
        const message = textCutProblem(node);
        if (message !== null) context.report({ node, message });
      },
    };
  },
};

/** Comments, titles of tests and messages of assertions are written in the words of the field. */
const plainWords = {
  create(context: Context) {
    return {
      Program() {
        for (const { node, text } of wholeComments(context.sourceCode.getAllComments()))
          for (const message of commentProblems(text)) context.report({ node, message });
      },
      CallExpression(node: Expression & Node) {
        for (const text of [titleOf(node), assertionOf(node)])
          for (const message of wordingProblems(text)) context.report({ node, message });
      },
    };
  },
};

/** So are texts of the program, whichever call they are for: messages, help, descriptions and what the console shows. */
const plainMessages = {
  create(context: Context) {
    const check = (node: Expression & Node): void => {
      const text = textOf(node);
      if (!/\s/.test(text)) return;
      for (const message of wordingProblems(text)) context.report({ node, message });
    };
    return { Literal: check, TemplateLiteral: check, JSXText: check };
  },
};

/** The text of each comment; line comments on adjacent lines are one. */
function wholeComments(comments: readonly Comment[]): { node: Comment; text: string }[] {
  const whole: { node: Comment; text: string; endLine: number }[] = [];
  for (const node of comments) {
    const text = node.value.replaceAll(/^\s*\*+ ?/gm, "").trim();
    const last = whole.at(-1);
    const isNext =
      last?.node.type === "Line" &&
      node.type === "Line" &&
      last.endLine + 1 === node.loc.start.line;
    if (last !== undefined && isNext) {
      last.text += ` ${text}`;
      last.endLine = node.loc.end.line;
    } else whole.push({ node, text, endLine: node.loc.end.line });
  }
  return whole;
}

export default {
  meta: { name: "switchyard" },
  rules: {
    layers,
    layout,
    "plain-messages": plainMessages,
    "plain-words": plainWords,
    "text-cuts": textCuts,
  },
};
