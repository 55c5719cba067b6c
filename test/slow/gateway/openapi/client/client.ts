// Calls each rule of the contract with a client whose types are generated from the document. Prints
// a line of JSON for each reply.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.d.ts";

/** Parts of Node's process that are used: its types are no package of this folder. */
declare const process: {
  readonly argv: readonly string[];
  readonly stdout: { write(text: string): void };
};

const baseUrl = process.argv[2] ?? "";
const client = createClient<paths>({ baseUrl });
const shelf = "old & new";
const book = { shelf, book: "dune" };

function print(name: string, { response, data, error }: Reply): void {
  process.stdout.write(`${JSON.stringify([name, response.status, data ?? error])}\n`);
}

interface Reply {
  readonly response: Response;
  readonly data?: unknown;
  readonly error?: unknown;
}

const read = await client.GET("/v1/shelves/{shelf}/books/{book}", { params: { path: book } });
// Its type is that of a reply.
const copies: string | undefined = read.data?.copies;
print("GetBook", { ...read, data: copies });
print(
  "GetBook_2",
  await client.GET("/v1/themes/{theme}/books/{book}", {
    params: { path: { theme: "sf", book: "dune" } },
  }),
);
print("GetBook_3", await client.GET("/v1/books/{book}", { params: { path: { book: "dune" } } }));
print("GetShelf", await client.GET("/v1/shelves/{shelf}", { params: { path: { shelf } } }));
print("GetTheme", await client.GET("/v1/themes/{theme}", { params: { path: { theme: "sf" } } }));
print(
  "ListBooks",
  await client.GET("/v1/shelves/{shelf}/books", {
    params: {
      path: { shelf },
      query: {
        view: "full",
        pageSize: 5,
        "filter.author.name": "Frank Herbert",
        "filter.color": "COLOR_RED",
        "filter.since": "2026-01-31T08:00:00Z",
        labels: { size: "large", "a b": "c&d" },
        tags: ["one", "two, three"],
      },
    },
  }),
);
const draft: components["schemas"]["catalog.v1.BookInput"] = {
  title: "Emma",
  isbn: "1",
  copies: 3,
  extra: { pages: [1, null] },
};
print(
  "CreateBook",
  await client.POST("/v1/shelves/{shelf}/books", {
    params: { path: { shelf }, query: { bookId: "emma" } },
    body: draft,
  }),
);
print(
  "UpdateBook",
  await client.PATCH("/v1/shelves/{shelf}/books/{book}", {
    params: { path: book, query: { updateMask: "oldTitle" } },
    body: { oldTitle: "Emma" },
  }),
);
print(
  "DeleteBook",
  await client.DELETE("/v1/shelves/{shelf}/books/{book}", { params: { path: book } }),
);
print(
  "MoveBook",
  await client.POST("/v1/shelves/{shelf}/books/{book}:move", {
    params: { path: book },
    body: { shelf: "new" },
  }),
);
print("GetPage", await client.GET("/v1/pages/{path}", { params: { path: { path: "index" } } }));
print(
  "GetPage of several segments",
  await client.GET("/v1/pages/{path}", {
    params: { path: { path: "a b/c" } },
    pathSerializer: (path, values) =>
      path.replace(/\{([^}]+)\}/g, (_, name) => encodeURI(String(values[name]))),
  }),
);
print(
  "GetTitle",
  await client.GET("/v1/shelves/{shelf}/books/{book}/title", { params: { path: book } }),
);
print("GetOld", await client.GET("/v1/old/{id}", { params: { path: { id: "7" } } }));
print("GetStatus", await client.GET("/v1/status"));
print("Exchange", await client.POST("/v1/swaps", { body: { input: { left: "x" } } }));
print(
  "Upload",
  await client.POST("/v1/uploads/{name}", {
    params: { path: { name: "a.csv" } },
    headers: { "content-type": "text/csv" },
    body: "a,b\n",
    bodySerializer: (body) => body as string,
  }),
);
print(
  "Download",
  await client.GET("/v1/uploads/{name}", {
    params: { path: { name: "a.csv" } },
    parseAs: "text",
  }),
);
const watched = { params: { path: { shelf }, query: { view: "full" } } };
print(
  "WatchBooks as lines",
  await client.GET("/v1/shelves/{shelf}/books:watch", { ...watched, parseAs: "text" }),
);
print(
  "WatchBooks as an array",
  await client.GET("/v1/shelves/{shelf}/books:watch", {
    ...watched,
    headers: { accept: "application/json" },
  }),
);
print(
  "WatchBooks as events",
  await client.GET("/v1/shelves/{shelf}/books:watch", {
    ...watched,
    headers: { accept: "text/event-stream" },
    parseAs: "text",
  }),
);
print(
  "ImportBooks",
  await client.POST("/v1/books:import", {
    headers: { "content-type": "application/x-ndjson" },
    body: [draft, { ...draft, title: "Dune" }].map((one) => `${JSON.stringify(one)}\n`).join(""),
    bodySerializer: (body) => body,
  }),
);
print("Any", await client.GET("/v1/any"));
print(
  "PutBook",
  await client.PUT("/archive/books/{id}", { params: { path: { id: "7" } }, body: { weight: 2 } }),
);
const refused = await client.GET("/v1/shelves/{shelf}", { params: { path: { shelf: "none" } } });
const code: number | undefined = refused.error?.code;
print("an error", { ...refused, error: code });
