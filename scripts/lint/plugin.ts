import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { textCutProblem, type Expression } from "./text-cuts.ts";
import { declaredFloors, floorName, upwardImport } from "./layout.ts";

// Rules of this repository for oxlint. The types are the part of its plugin interface that is used here.

interface Node {
  readonly source?: { readonly value?: unknown } | null;
}

interface Context {
  readonly filename: string;
  report(problem: { readonly node: Node; readonly message: string }): void;
}

const floorsOf = new Map<string, ReadonlyMap<string, number> | undefined>();

/** Imports of a service go down in the order of folders that its README declares under "Layout". */
const layout = {
  create(context: Context) {
    const [, service, path] =
      /^(.*\/services\/[^/]+)\/src\/(.+)$/.exec(context.filename.replaceAll("\\", "/")) ?? [];
    if (service === undefined || path === undefined) return {};
    if (!floorsOf.has(service))
      floorsOf.set(service, declaredFloors(readFileSync(join(service, "README.md"), "utf8")));
    const floors = floorsOf.get(service);
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
        if (path !== "main.ts") return;
        for (const name of floors.keys())
          if (!existsSync(join(service, "src", name)))
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

export default { meta: { name: "switchyard" }, rules: { layout, "text-cuts": textCuts } };
