const { Code, ConnectError } = require("@connectrpc/connect");
const { fastify } = require("fastify");
const { createOpenApi, restGateway } = require("mooring-gateway");
const { restHandler } = require("mooring-gateway/fetch");
const { LibraryService } = require("./gen/library/v1/library_pb.js");

const dune = { bookId: "dune", title: "Dune", pageCount: 412 };
const options = {
  bodyLimit: () => 1_000,
  routes: (router) =>
    router.service(LibraryService, {
      getBook({ bookId }) {
        if (bookId !== "dune") throw new ConnectError(`no book ${bookId}`, Code.NotFound);
        return dune;
      },
      createBook: ({ book }) => book,
      async *readBooks() {
        yield dune;
        yield { ...dune, bookId: "emma" };
      },
    }),
};

const app = fastify();
app.register(restGateway, options);
const document = createOpenApi({ ...options, title: "Library", version: "1" });
app.get("/openapi.json", () => document);
const handler = restHandler(options);
app.get("/handler", async () =>
  (await handler(new Request("http://localhost/v1/books/dune"))).text(),
);
app.listen({ host: "127.0.0.1", port: 0 }).then((address) => process.stdout.write(`${address}\n`));
