// Package lib holds no code of its own. Its packages stand on floors; a
// package imports only floors below its own, and a test here reads the import
// graph and fails on an upward import. docs/architecture.md shows the house.
package lib
