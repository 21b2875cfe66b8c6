"""Events of each language as their runtimes print them: lines between two `====` are one event, which begins with its record."""

from worker.indexing.event_languages import Start

BLOCKS: dict[Start, str] = {
    "python": """\
2026-11-23 10:00:00,123 ERROR shop order failed
Traceback (most recent call last):
  File "/app/g.py", line 3, in <module>
    try: int("x")
         ^^^^^^^^
ValueError: invalid literal for int() with base 10: 'x'
while reading order 7
of shop north
====
2026-11-23 10:00:00,123 ERROR shop group
  + Exception Group Traceback (most recent call last):
  |   File "/app/g.py", line 7, in <module>
  |     try: raise ExceptionGroup("two", [ValueError("1"), TypeError("2")])
  | ExceptionGroup: two (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: 1
    +---------------- 2 ----------------
    | TypeError: 2
    +------------------------------------
====
shop: a print behind a group is its own
====
ERROR:asyncio:Task exception was never retrieved
future: <Task finished name='Task-2' coro=<m.<locals>.x() done, defined at /app/g.py:10> exception=KeyError('a')>
Traceback (most recent call last):
  File "/app/g.py", line 10, in x
    async def x(): raise KeyError("a")
                   ^^^^^^^^^^^^^^^^^^^
KeyError: 'a'
====
ERROR:shop:database is away
Traceback (most recent call last):
  File "/app/db.py", line 7, in connect
    connection = pool.connect()
psycopg2.OperationalError: connection to server at "db" (10.0.0.1), port 5432 failed: Connection refused
	Is the server running on that host and accepting TCP/IP connections?

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/app/db.py", line 9, in connect
    raise Away from error
sqlalchemy.exc.OperationalError: (psycopg2.OperationalError) connection to server failed: Connection refused
	Is the server running on that host?
[SQL: INSERT INTO orders VALUES (%s)]
(Background on this error at: https://sqlalche.me/e/20/e3q8)
====
WARNING:shop:bad order
Traceback (most recent call last):
  File "/app/model.py", line 3, in <module>
    Order(id="a")
pydantic_core._pydantic_core.ValidationError: 1 validation error for Order
id
  Input should be a valid integer, unable to parse string as an integer [type=int_parsing, input_value='a', input_type=str]
    For further information visit https://errors.pydantic.dev/2.9/v/int_parsing
====
2026-11-23 10:00:01 INFO worker failed
concurrent.futures.process._RemoteTraceback:
\"\"\"
Traceback (most recent call last):
  File "/usr/lib/python3.11/concurrent/futures/process.py", line 256, in _process_worker
    r = call_item.fn(*call_item.args)
ZeroDivisionError: division by zero
\"\"\"

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/app/p.py", line 5, in <module>
    pool.submit(f).result()
ZeroDivisionError: division by zero
====
INFO:root:last
""",
    "go": """\
2026/11/28 09:09:23 http: panic serving 127.0.0.1:42754: cart is empty
goroutine 5 [running]:
net/http.(*conn).serve.func1()
	/usr/local/go/src/net/http/server.go:1897 +0xbd
panic({0x6e1100?, 0x775280?})
	/usr/local/go/src/runtime/panic.go:860 +0x13a
main.main.func1({0x62dee5?, 0x3fd108b50038?}, 0x0?)
	/app/main.go:3 +0x25
created by net/http.(*Server).Serve in goroutine 21
	/usr/local/go/src/net/http/server.go:3464 +0x485
====
2026/11/28 09:09:23 next
====
2026/11/28 09:09:23 bad 7
====
panic: bad 7
line two
	line three

goroutine 1 [running]:
log.Panicf({0x7579a9?, 0x0?}, {0x3fd108c7df08?, 0x3fd108c7df18?, 0x3fd108b88710?})
	/usr/local/go/src/log/log.go:460 +0x74
main.main()
	/app/main.go:3 +0xc6
exit status 2
====
2026/11/28 09:09:24 starting
====
unexpected fault address 0x7f0000000000
fatal error: all goroutines are asleep - deadlock!

goroutine 1 [chan receive]:
main.main()
	/app/main.go:5 +0x2d
====
2026/11/28 09:09:25 recovered from a bad order
goroutine 7 [running]:
runtime/debug.Stack()
	/usr/local/go/src/runtime/debug/stack.go:26 +0x5e
main.work(0x1)
	/app/main.go:9 +0x1d
====
2026/11/28 09:09:26 last
""",
    "node": """\
shop listens
====
node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module './nope'
Require stack:
- /app/a.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:164:12) {
  code: 'MODULE_NOT_FOUND',
  requireStack: [ '/app/a.js' ]
}

Node.js v20.20.2
====
shop listens
====
/app/b.js:1
async function f(){ throw new Error('first line', {cause: new TypeError('inner')}) }
                          ^

Error: first line
second line
    at f (/app/b.js:1:27)
    ... 5 lines matching cause stack trace ...
    at node:internal/main/run_main_module:28:49 {
  [cause]: TypeError: inner
      at f (/app/b.js:1:72)
      at node:internal/main/run_main_module:28:49
}

Node.js v20.20.2
====
/app/c.js:1
throw 'just text'
^
just text
(Use `node --trace-uncaught ...` to show where the exception was thrown)

Node.js v20.20.2
====
2026-11-23T10:00:00Z error: order failed
Error: Command failed: ls nope
ls: cannot access 'nope': No such file or directory
    at genericNodeError (node:internal/errors:984:15)
    at ChildProcess.exithandler (node:child_process:421:12) {
  code: 2
}
====
TypeError: another
    at f (/app/d.js:1:1)
====
2026-11-23T10:00:00Z info: last
""",
    "java": """\
2026-11-23 10:00:00,123 ERROR [main] shop.Cart - order failed
org.postgresql.util.PSQLException: ERROR: duplicate key value violates unique constraint "orders_pkey"
  Detail: Key (id)=(7) already exists.
Contact the desk.
	at org.postgresql.core.v3.QueryExecutorImpl.receiveErrorResponse(QueryExecutorImpl.java:2713)
	at shop.Cart.save(Cart.java:7)
Caused by: java.lang.IllegalStateException: first line
second line
	at shop.Cart.check(Cart.java:9)
	... 2 more
====
2026-11-23 10:00:01,123 INFO [main] shop.Cart - next
====
Exception in thread "main" java.lang.IllegalArgumentException: cart
is empty
	at shop.Cart.main(Cart.java:3)
	Suppressed: java.io.IOException: closed
		at shop.Cart.close(Cart.java:5)
	[CIRCULAR REFERENCE: java.lang.IllegalArgumentException: cart]
====
shop listens
com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException: Unrecognized field "x"
 at [Source: (String)"{"x":1}"; line: 1, column: 6]
	at shop.Reader.read(Reader.java:3)
====
shop.Quiet.Exception: without frames
====
2026-11-23T10:00:00.123Z ERROR 1 --- [nio-8080-exec-1] o.a.c.c.C.[.[.[/] : Servlet.service() threw exception

java.lang.NullPointerException: Cannot invoke "String.length()" because "s" is null
	at shop.Cart.add(Cart.java:3) ~[classes/:na]
====
2026-11-23 10:00:02,123 INFO [main] shop.Cart - last
""",
    "dotnet": """\
fail: Shop.Cart[0]
      order 7 failed
      System.InvalidOperationException: outer
       ---> System.ArgumentException: inner
         at Shop.Cart.Add() in /src/Cart.cs:line 3
         --- End of inner exception stack trace ---
         at Shop.Cart.Main() in /src/Cart.cs:line 9
====
info: Shop.Cart[1]
      next
====
2026-11-23 10:00:00 [ERR] order failed
Microsoft.EntityFrameworkCore.DbUpdateException: An error occurred while saving the entity changes.
 ---> Microsoft.Data.SqlClient.SqlException (0x80131904): Violation of PRIMARY KEY constraint 'PK_Orders'.
The statement has been terminated.
   at Microsoft.Data.SqlClient.SqlConnection.OnError(SqlException exception)
ClientConnectionId:5a3c1b80-0000-0000-0000-000000000000
Error Number:2627,State:1,Class:14
   --- End of inner exception stack trace ---
   at Shop.Cart.Save() in /src/Cart.cs:line 12
--- End of stack trace from previous location ---
   at Shop.Cart.Main()
====
2026-11-23 10:00:01 [INF] next
====
Unhandled exception. System.AggregateException: One or more errors occurred. (bad)
 ---> System.Exception: bad
second line
   at Shop.Program.<Main>$(String[] args) in /src/Program.cs:line 1
   --- End of inner exception stack trace ---
   at System.Threading.Tasks.Task.Wait()
====
2026-11-23 10:00:02 [INF] last
""",
    "ruby": """\
shop listens
====
/app/x.rb:3:in `add': cart is empty (ArgumentError)
	from /app/x.rb:7:in `block in run'
	from /app/x.rb:9:in `<main>'
/app/x.rb:2:in `read': inner (KeyError)
	from /app/x.rb:3:in `add'
====
shop listens
====
/app/y.rb:1:in '<main>': undefined method 'foo' for an instance of Integer (NoMethodError)

1.foo
 ^^^^
	from /app/z.rb:3:in 'Object#require'
====
E, [2026-11-23T10:00:00.123456 #1] ERROR -- : cart is empty (ArgumentError)
/app/x.rb:3:in `add'
/app/x.rb:9:in `<main>'
====
I, [2026-11-23T10:00:01.123456 #1]  INFO -- : next
====
Traceback (most recent call last):
	2: from /app/x.rb:9:in `<main>'
	1: from /app/x.rb:7:in `run'
/app/x.rb:3:in `add': cart is empty (ArgumentError)
====
I, [2026-11-23T10:00:02.123456 #1]  INFO -- : last
""",
    "php": """\
shop listens
====
PHP Fatal error:  Uncaught LogicException: inner in /app/p.php:2
Stack trace:
#0 /app/p.php(4): f()
#1 {main}

Next RuntimeException: cart
is empty in /app/p.php:2
Stack trace:
#0 /app/p.php(4): f()
#1 {main}
  thrown in /app/p.php on line 2
====
[2026-11-23 10:00:00] prod.ERROR: cart is empty {"exception":"[object] (RuntimeException(code: 0): cart is empty at /app/p.php:3)
[stacktrace]
#0 /app/p.php(7): Cart->add()
#1 {main}

[previous exception] [object] (LogicException(code: 0): inner at /app/p.php:2)
[stacktrace]
#0 {main}
"}
====
[2026-11-23 10:00:01] prod.INFO: next
====
PHP Fatal error:  Uncaught Exception: cart
is empty in /app/q.php:3
Stack trace:
#0 {main}
  thrown in /app/q.php on line 3
====
[23-Nov-2026 10:00:00 UTC] PHP Warning:  Undefined variable $x in /app/p.php on line 3
[23-Nov-2026 10:00:00 UTC] PHP Stack trace:
[23-Nov-2026 10:00:00 UTC] PHP   1. {main}() /app/p.php:0
====
[2026-11-23 10:00:02] prod.INFO: last
""",
    "rust": """\
2026-11-23T10:00:00Z  INFO shop: listens
====
thread '<unnamed>' (8019) panicked at r.rs:1:42:
assertion `left == right` failed: carts differ
  left: 1
 right: 2
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/59807616/library/std/src/panicking.rs:689:5
   4: r::main::{{closure}}
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
====

====
thread 'main' (8017) panicked at r.rs:1:112:
no cart
second line
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
====
2026-11-23T10:00:00Z  INFO shop: next
====
thread 'main' panicked at 'cart is empty', src/main.rs:2:5
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
====
thread 'tokio-runtime-worker' panicked at src/main.rs:9:5:
told once only
====
2026-11-23T10:00:01Z  INFO shop: next
====
Error: cannot read the cart

Caused by:
    0: cart.json
    1: No such file or directory (os error 2)

Stack backtrace:
   0: anyhow::error::<impl>::from
             at /root/.cargo/registry/src/anyhow/src/error.rs:565:25
   1: shop::main
====
2026-11-23T10:00:02Z  INFO shop: last
""",
}
