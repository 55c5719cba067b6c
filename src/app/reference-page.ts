import { isObject } from "../is-object.ts";
import { escapeHtml } from "../messages/message.ts";
import { generatedPage } from "./generated-page.ts";

/** The reference of an OpenAPI document as one page without scripts. */
export function createReference(document: unknown): string {
  const { info, paths, tags, components } = objectOf(document);
  const operations = Object.entries(objectOf(paths)).flatMap(([path, item]) =>
    Object.entries(objectOf(item)).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation: objectOf(operation),
    })),
  );
  const sections = listOf(tags).map((tag) => {
    const { name, description } = objectOf(tag);
    const own = operations.filter(({ operation }) =>
      listOf(operation["tags"]).includes(name ?? ""),
    );
    return [
      `<h2 id="${text(name)}">${text(name)}</h2>`,
      note(description),
      ...own.map((one) => operationHtml(one, document)),
    ].join("\n");
  });
  const links = operations.map(
    ({ method, path, operation }) =>
      `<li><a href="#${text(operation["operationId"])}"><code>${method} ${escapeHtml(path)}</code></a></li>`,
  );
  const { title, version, description } = objectOf(info);
  const name = `${String(title)} ${String(version)}`;
  return generatedPage(
    name,
    [
      `<h1>${escapeHtml(name)}</h1>`,
      note(description),
      '<p>The same for programs: <a href="openapi.json">openapi.json</a>.</p>',
      `<nav><ul>${links.join("")}</ul></nav>`,
      ...sections,
      ...headersHtml(objectOf(components)),
      `<h2 id="schemas">Schemas</h2>`,
      ...Object.entries(objectOf(objectOf(components)["schemas"])).map(
        ([schema, content]) =>
          `<h3 id="schema-${escapeHtml(schema)}">${escapeHtml(schema)}</h3>\n${schemaHtml(content)}`,
      ),
    ].join("\n"),
  );
}

interface Operation {
  readonly path: string;
  readonly method: string;
  readonly operation: Record<string, unknown>;
}

function operationHtml({ path, method, operation }: Operation, document: unknown): string {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const security = operation["security"] ?? objectOf(document)["security"];
  const token = listOf(security).length > 0 ? "Needs the token." : "Needs no token.";
  return [
    `<h3 id="${text(operationId)}">${text(summary)}</h3>`,
    `<p><code>${method} ${escapeHtml(path)}</code> — ${token}</p>`,
    note(description),
    // Common headers are at the end of the page.
    parameterTable(
      listOf(parameters)
        .map(objectOf)
        .filter(({ $ref }) => $ref === undefined),
    ),
    bodyHtml(objectOf(requestBody)),
    `<p>Reply: ${replyHtml(objectOf(responses))}</p>`,
    `<pre><code>${escapeHtml(curl({ path, method, operation }, listOf(security).length > 0))}</code></pre>`,
  ].join("\n");
}

/** Headers of calls and replies that all operations share. */
function headersHtml({ parameters, headers }: Record<string, unknown>): string[] {
  const replies = Object.entries(objectOf(headers)).map(([name, header]) => ({
    ...objectOf(header),
    name,
    in: "reply",
  }));
  const calls = Object.values(objectOf(parameters)).map((one) => ({
    ...objectOf(one),
    in: "request",
  }));
  if (replies.length === 0) return [];
  return ['<h2 id="headers">Headers</h2>', parameterTable([...calls, ...replies])];
}

function parameterTable(parameters: readonly Record<string, unknown>[]): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map(
    ({ name, in: place, description, schema }) =>
      `<tr><td><code>${text(name)}</code></td><td>${text(place)}</td><td>${typeHtml(schema)}</td><td>${text(description)}</td></tr>`,
  );
  return `<table><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr>${rows.join("")}</table>`;
}

function bodyHtml(body: Record<string, unknown>): string {
  const { schema } = objectOf(objectOf(body["content"])["application/json"]);
  return schema === undefined ? "" : `<p>Body: ${typeHtml(schema)}</p>`;
}

function replyHtml(responses: Record<string, unknown>): string {
  const [content] = Object.values(objectOf(objectOf(responses["200"])["content"])).map(objectOf);
  const schema = objectOf(content?.["schema"]);
  const [success = {}] = [...listOf(schema["anyOf"]).map(objectOf), schema];
  const { data } = objectOf(success["properties"]);
  if (data !== undefined) return `the envelope with <code>data</code>: ${typeHtml(data)}`;
  const inside = schema["contentSchema"];
  return inside === undefined ? typeHtml(schema) : `events, each ${typeHtml(inside)}`;
}

/** A type in a few words, with links to schemas. */
function typeHtml(schema: unknown): string {
  const { $ref, type, items, additionalProperties, anyOf, format } = objectOf(schema);
  if (typeof $ref === "string") {
    const name = escapeHtml($ref.slice($ref.lastIndexOf("/") + 1));
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (Array.isArray(anyOf)) return anyOf.map(typeHtml).join(" or ");
  if (type === "array") return `list of ${typeHtml(items)}`;
  if (type === "object" && typeof additionalProperties === "object")
    return `map of ${typeHtml(additionalProperties)}`;
  const types = Array.isArray(type) ? type.map(String).join(" or ") : String(type ?? "any");
  return escapeHtml(typeof format === "string" ? `${types} (${format})` : types);
}

function schemaHtml(schema: unknown): string {
  const { description, properties, enum: values } = objectOf(schema);
  const rows = Object.entries(objectOf(properties)).map(
    ([name, member]) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${typeHtml(member)}</td><td><p class="note">${text(objectOf(member)["description"])}</p></td></tr>`,
  );
  const table = `<table><tr><th>Member</th><th>Type</th><th></th></tr>${rows.join("")}</table>`;
  const names = listOf(values).map((value) => `<code>${escapeHtml(String(value))}</code>`);
  const choice = names.length === 0 ? "" : `<p>One of ${names.join(", ")}</p>`;
  return `${choice}${note(description)}${rows.length === 0 ? "" : table}`;
}

/** The operation's example as a command. */
function curl({ path, method, operation }: Operation, token: boolean): string {
  const examples = listOf(operation["parameters"])
    .map(objectOf)
    .filter(({ in: place, example }) => place === "query" && example !== undefined)
    .map(({ name, example }) => {
      const value = Array.isArray(example) ? example.join(",") : String(example);
      return `${String(name)}=${encodeURIComponent(value).replaceAll("%2C", ",")}`;
    });
  const query = examples.length === 0 ? "" : `?${examples.join("&")}`;
  const content = objectOf(objectOf(operation["requestBody"])["content"]);
  const { example } = objectOf(content["application/json"]);
  return [
    `curl -s${method === "GET" ? "" : ` -X ${method}`}`,
    ...(token ? [`-H "Authorization: $MOORING_TOKEN"`] : []),
    ...(example === undefined
      ? []
      : [`-H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(example)}'`]),
    `"$MOORING_URL${path}${query}"`,
  ].join(" ");
}

function note(description: unknown): string {
  return description === undefined ? "" : `<p class="note">${text(description)}</p>`;
}

/** Text with `code` marked. */
function text(value: unknown): string {
  const escaped = escapeHtml(value === undefined || value === null ? "" : String(value));
  return escaped.replace(/`([^`]+)`/g, "<code>$1</code>");
}

function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
